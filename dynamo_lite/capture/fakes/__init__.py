"""FakeTensors: making them, the mode that they live in, and remembering what operators return."""
