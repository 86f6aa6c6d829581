package link

import "net/netip"

// Addresses of a packet link: of the networks that are set apart for measuring networks (RFC 2544,
// RFC 5180), so that they are nobody's.
var (
	ServerAddress  = netip.MustParsePrefix("198.18.0.1/30")
	DeviceAddress  = netip.MustParsePrefix("198.18.0.2/30")
	ServerAddress6 = netip.MustParsePrefix("2001:2::1/64")
	deviceAddress6 = netip.MustParsePrefix("2001:2::2/64")
)
