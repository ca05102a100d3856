"""Rules for calls and attributes where a FakeTensor would not answer as a tensor with data does."""
