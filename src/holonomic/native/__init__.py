"""How marked functions become machine code, are kept, and are called: nothing here knows what they compute."""
