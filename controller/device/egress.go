package device

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// EgressPolicy lets an untrusted test connect to other machines, and on this machine to the pages
// of the run only. It checks the address of each connection after the name was resolved. So neither
// another spelling, nor a redirect, nor a name that resolves differently the second time evades it.
//
// A container of this machine with its own address counts as another machine. So does an address
// that another router leads back here.
type EgressPolicy struct {
	Pages []netip.AddrPort // of this machine, that are reached all the same: the run's own
}

// Instead replaces a server on the loopback by another one of this machine. The browser keeps the
// origin of the replaced one.
type Instead struct{ Of, At string } // host:port

// ErrInside says that an address is one of this machine's.
var ErrInside = errors.New("address of this machine, which is not allowed")

// DialContext connects as net.Dialer does. The error of a refused address wraps [ErrInside].
func (o *EgressPolicy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		return o.check(address, net.InterfaceAddrs)
	}}
	return d.DialContext(ctx, network, address)
}

// check refuses addresses of this machine, of which some are those of interfaces.
func (o *EgressPolicy) check(address string, interfaces func() ([]net.Addr, error)) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	if slices.Contains(o.Pages, netip.AddrPortFrom(ip, to.Port())) {
		return nil
	}
	inside := ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast()
	if !inside {
		all, err := interfaces() // each time: they come and go
		if err != nil {
			return fmt.Errorf("ask for the addresses of this machine: %w", err)
		}
		inside = slices.ContainsFunc(all, func(a net.Addr) bool {
			of, err := netip.ParsePrefix(a.String())
			return err != nil || of.Addr().Unmap().WithZone("") == ip.WithZone("") // what cannot be read may be it
		})
	}
	if !inside {
		if inside, err = routedHere(ip); err != nil {
			return fmt.Errorf("connect to %s: find out whether it is on this machine: %w", to, err)
		}
	}
	if inside {
		return fmt.Errorf("connect to %s: %w", to, ErrInside)
	}
	return nil
}

// routedHere reports whether an address is this machine's by a route to the loopback, though no
// interface has it. For IPv4, only such an address can be a socket's own. If the machine allows any
// address for that (net.ipv4.ip_nonlocal_bind), no address is known to be outside.
func routedHere(ip netip.Addr) (bool, error) {
	if ip.Is6() {
		return routedHere6(ip.WithZone(""))
	}
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err == nil {
		return true, c.Close()
	}
	const windows = syscall.Errno(10049) // WSAEADDRNOTAVAIL
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, windows) {
		return false, nil
	}
	return false, err
}

// routedHere6 searches the kernel's routes. For IPv6, a socket cannot use an address that is the
// machine's by a route alone.
func routedHere6(ip netip.Addr) (bool, error) {
	f, err := os.Open("/proc/thread-self/net/ipv6_route")
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // no IPv6, or another system
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		to, here, err := parseRoute6(lines.Text())
		if err != nil {
			return false, err
		}
		if here && to.Contains(ip) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// parseRoute6 reads a line of the kernel's, all in hexadecimal. Its fields are destination, bits;
// source, bits; next hop, metric; two counts, flags; and the interface's name. here reports that it
// leads to this machine itself.
func parseRoute6(line string) (to netip.Prefix, here bool, err error) {
	// RTF_LOCAL and RTF_ANYCAST of linux/ipv6_route.h; the latter is what a router has of each of
	// its networks
	const local, anycast = 1 << 31, 1 << 20
	fields := strings.Fields(line)
	if len(fields) != 10 {
		return to, false, fmt.Errorf("kernel route %.200q: must have ten fields", line)
	}
	var destination [16]byte
	if n, err := hex.Decode(destination[:], []byte(fields[0][:min(len(fields[0]), 32)])); err != nil || n != 16 {
		return to, false, fmt.Errorf("kernel route %.200q: no address", line)
	}
	bits, err := strconv.ParseUint(fields[1], 16, 8)
	if err != nil {
		return to, false, fmt.Errorf("kernel route %.200q: %w", line, err)
	}
	flags, err := strconv.ParseUint(fields[8], 16, 32)
	if err != nil {
		return to, false, fmt.Errorf("kernel route %.200q: %w", line, err)
	}
	to = netip.PrefixFrom(netip.AddrFrom16(destination), int(bits))
	if !to.IsValid() {
		return to, false, fmt.Errorf("kernel route %.200q: no network", line)
	}
	return to, flags&(local|anycast) != 0, nil
}
