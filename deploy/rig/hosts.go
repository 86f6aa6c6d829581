package rig

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// hosts are the names of the rig beside its addresses.
func (s *Rig) hosts() []string {
	name, err := os.Hostname()
	if _, loopback := s.conf.Loopback(); loopback || err != nil {
		name = ""
	}
	return hostsWith(s.conf.Access.Hosts, name)
}

// hostsWith adds the machine's own name, unless it is localhost.
func hostsWith(given []string, machine string) []string {
	machine = strings.ToLower(machine)
	if machine == "" || machine == "localhost" || slices.Contains(given, machine) {
		return given
	}
	return append(slices.Clone(given), machine)
}

// shownAddress returns an address to open: the first name if the rig listens on all addresses.
func shownAddress(at string, hosts []string) string {
	listens, err := netip.ParseAddrPort(at)
	if err != nil || !listens.Addr().IsUnspecified() || len(hosts) == 0 {
		return at
	}
	_, port, _ := net.SplitHostPort(at) // was parsed
	return net.JoinHostPort(hosts[0], port)
}
