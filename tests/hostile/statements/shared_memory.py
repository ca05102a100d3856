"""Views and arrays on the memory of parameters and buffers."""

STATEMENTS = """\
z = z + self.piece
self.piece.mul_(0.5); z = z + self.b0
self.b0.add_(1); z = z + self.piece
z = z * self.pieces[0] + self.pieces[1][0]
with torch.no_grad(): z = z * self.pieces[0]
z = z + self.shown * 0.5
self.shown.add_(1); z = z + self.w
z = z + float(self.arr0[0])
self.arr0[1] = 2; z = z + self.b0
z = z + torch.from_numpy(self.arr0)
self.b0 = self.b0 * 0.5; z = z + self.piece
z = z + self.column[:, 0].sum()
vs.append(self.piece); z = z + vs[-1]
self.kept = self.b0.data; z = z + self.kept
self.kept = self.b0[1:]; self.kept.add_(1); z = z + self.b0"""

INIT = """\
self.piece, self.pieces, self.shown = self.b0[:], list(self.w[None].unbind(0)) + [self.w[1:2]], self.w.data
self.arr0, self.column, self.kept = self.b0.numpy(), self.w[:, None], None"""
