"""Rules for text: made of sizes and tensors, discarded, printed, or different from call to call."""
