package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tunName is what the link is called, on both sides.
const tunName = "link0"

// openTUN makes an interface in the namespace of the calling thread. Its packets are read from and
// written to the file (Linux, Documentation/networking/tuntap.rst). The file does not block.
func openTUN(name string) (fd int, err error) {
	fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, refused("open /dev/net/tun", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return -1, errors.Join(refused("make the interface "+name, err), unix.Close(fd))
	}
	return fd, nil
}

// onInterface calls do with an interface of the calling thread's namespace.
func onInterface(name string, do func(*netlink.Handle, netlink.Link) error) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("ask the kernel for interfaces: %w", err)
	}
	defer h.Close()
	l, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find the interface %s: %w", name, err)
	}
	return do(h, l)
}

// netOf returns a prefix as netlink has it.
func netOf(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// addressOf returns an address without a check for duplicates, since nobody else could have it.
func addressOf(p netip.Prefix) *netlink.Addr {
	a := &netlink.Addr{IPNet: netOf(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}

// setUp gives an interface of the calling thread's namespace its addresses, and starts it and the
// loopback.
func setUp(name string, addresses ...netip.Prefix) error {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("ask the kernel for interfaces: %w", err)
	}
	defer handle.Close()
	for _, name := range []string{"lo", name} {
		l, err := handle.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find the interface %s: %w", name, err)
		}
		if name != "lo" {
			if err := handle.LinkSetMTU(l, MTU); err != nil {
				return refused("set the size of packets of "+name, err)
			}
			// As many packets wait here at most as the machine can send before the link takes them:
			// none may be lost but by the link's queue.
			if err := handle.LinkSetTxQLen(l, 10_000); err != nil {
				return refused("set the queue of "+name, err)
			}
			// The kernel tells groups of IPv6 of itself, and looks for routers. The packets that a
			// seed decides of are to be those of the test alone.
			if err := handle.LinkSetMulticastOff(l); err != nil {
				return refused("keep multicast from "+name, err)
			}
			// where there is IPv6
			_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/router_solicitations", []byte("0"), 0)
			for _, a := range addresses {
				if err := handle.AddrAdd(l, addressOf(a)); err != nil {
					if a.Addr().Is6() && (errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EACCES) ||
						errors.Is(err, unix.EPERM)) {
						continue // a kernel without IPv6
					}
					return refused("give "+name+" the address "+a.String(), err)
				}
			}
		}
		if err := handle.LinkSetUp(l); err != nil {
			return refused("start the interface "+name, err)
		}
	}
	return nil
}

// routeAll sends everything that has no way of its own through an interface of the thread's
// namespace. kind says whether it goes out there or ends there.
func routeAll(name string, kind int) error {
	return onInterface(name, func(h *netlink.Handle, l netlink.Link) error {
		for _, everything := range []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}} {
			route := &netlink.Route{LinkIndex: l.Attrs().Index, Dst: everything, Type: kind, Table: unix.RT_TABLE_MAIN}
			if kind == unix.RTN_LOCAL {
				route.Scope = netlink.SCOPE_HOST
			}
			if err := h.RouteAdd(route); err != nil {
				if len(everything.IP) == net.IPv6len && noIPv6() {
					continue
				}
				return refused("send everything through "+name, err)
			}
		}
		return nil
	})
}

// noIPv6 reports whether the kernel has none, or it is turned off.
func noIPv6() bool {
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	return err != nil || len(off) > 0 && off[0] == '1'
}
