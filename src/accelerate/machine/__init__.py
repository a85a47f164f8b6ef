"""What this computer is: chip, memory, devices and versions, found without importing torch."""
