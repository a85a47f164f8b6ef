"""What each kind of device can do. One file per kind; nothing else asks what a device is."""
