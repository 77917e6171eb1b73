"""What a device can do: architectures, devices, links, efficiencies; knows no work."""
