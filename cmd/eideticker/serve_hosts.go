package main

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// hosts are the names by which the rig may be called beside its addresses.
func (s *rigService) hosts() []string {
	name, err := os.Hostname()
	if _, loopback := s.conf.Loopback(); loopback || err != nil {
		name = ""
	}
	return hostsWith(s.conf.Access.Hosts, name)
}

// hostsWith adds the machine's own name, which whoever sets it up has chosen, as they have those of
// the configuration. A machine that is called localhost has none.
func hostsWith(given []string, machine string) []string {
	machine = strings.ToLower(machine)
	if machine == "" || machine == "localhost" || slices.Contains(given, machine) {
		return given
	}
	return append(slices.Clone(given), machine)
}

// shownAddress is an address that can be opened: where the rig listens on all that the machine has,
// that of its first name.
func shownAddress(at string, hosts []string) string {
	listens, err := netip.ParseAddrPort(at)
	if err != nil || !listens.Addr().IsUnspecified() || len(hosts) == 0 {
		return at
	}
	_, port, _ := net.SplitHostPort(at) // was parsed
	return net.JoinHostPort(hosts[0], port)
}
