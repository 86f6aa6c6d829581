package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Segment is an interface of this machine as the device's side of a packet link. A device behind it
// has the link to the servers, and no other way out.
//
// The interface is moved from the machine's network to the namespace of the link's device. That
// forwards between the two. The link carries the device's IP packets unchanged. Ethernet and
// neighbour discovery stay on the cable. A bridge would put frames on the link that a real link
// does not carry. Reading packets from the interface itself would need the kernel's neighbour
// handling a second time. A probe of the link does not include the cable or radio.
//
// When the segment is closed, the interface returns with its former addresses. If this program is
// killed, its programs end with it. The kernel ends the namespace and returns the interface without
// addresses. The next program that opens it restores them: see [RestoreInterface].
type Segment struct {
	options SegmentOptions
	packet  *Packet
	lock    net.Listener
	origin  *netlink.Handle // asks in the network that the interface comes from
	home    int             // of that network, a file
	was     note
	wiphy   *uint32 // radio; nil: not a wireless interface
	taken   bool
	serving []*servant
	leases  chan Lease
	once    sync.Once
	err     error
}

// OpenSegment has an interface of the calling thread's network take the device's side of the link.
// It is an error to start programs in the device's namespace then.
func (p *Packet) OpenSegment(ctx context.Context, o SegmentOptions) (s *Segment, err error) {
	s = &Segment{options: o, packet: p, home: -1, leases: make(chan Lease, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if err := o.check(); err != nil {
		return s, err
	}
	if s.origin, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return s, fmt.Errorf("ask the kernel for interfaces: %w", err)
	}
	if s.lock, err = lockInterface(o.Interface); err != nil {
		return s, err
	}
	programs, err := o.programs()
	if err != nil {
		return s, err
	}
	if err := s.take(); err != nil {
		return s, err
	}
	if err := p.Device.Do(s.settle); err != nil {
		return s, fmt.Errorf("make %s the device's side: %w", o.Interface, err)
	}
	if err := p.Server.Do(func() error { return s.answer((*netlink.Handle).RouteAdd) }); err != nil {
		return s, err
	}
	for _, run := range programs {
		servant, err := run(ctx, s)
		if err != nil {
			return s, err
		}
		s.serving = append(s.serving, servant)
	}
	return s, nil
}

// lockInterface keeps an interface for one segment. The name is of the calling thread's network,
// and goes with the process, however that ends.
func lockInterface(name string) (net.Listener, error) {
	l, err := net.Listen("unix", "@eideticker-segment-"+name)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, &busyInterfaceError{name,
			"it is that of another one already; each device needs an interface of its own"}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the interface %s from others: %w", name, err)
	}
	return l, nil
}

// take moves the interface into the device's namespace.
func (s *Segment) take() (err error) {
	name := s.options.Interface
	l, err := findInterface(s.origin, name)
	if err != nil {
		return err
	}
	if l, err = restore(s.origin, l); err != nil { // of a segment that was killed
		return err
	}
	if err := s.examine(l); err != nil {
		return err
	}
	if s.was, err = remember(s.origin, l); err != nil {
		return err
	}
	if s.home, err = openNetwork(); err != nil {
		return fmt.Errorf("find the interface's own network: %w", err)
	}
	if s.wiphy, err = radioOf(l.Attrs().Index); err != nil {
		return err
	}
	if s.options.AccessPoint != nil && s.wiphy == nil {
		return &busyInterfaceError{name, "it is not a wireless interface, which an access point needs"}
	}
	if s.options.AccessPoint == nil && s.wiphy != nil {
		return &busyInterfaceError{name,
			"it is a wireless interface: say what its network is called, by access-point in the file of devices"}
	}
	if err := s.origin.LinkSetAlias(l, s.was.String()); err != nil {
		return refused("write on "+name+" what it was", err)
	}
	there := -1
	err = s.packet.Device.Do(func() (err error) {
		there, err = openNetwork()
		return err
	})
	if err != nil {
		return fmt.Errorf("find the device's network: %w", err)
	}
	defer unix.Close(there)
	s.taken = true
	return s.move(s.origin, l, there)
}

// openNetwork opens the network of the calling thread as a file, by which interfaces are moved to
// it.
func openNetwork() (int, error) {
	return unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// move puts the interface, of the calling thread's network, into the one that a file is of. A
// wireless one goes with its radio.
func (s *Segment) move(from *netlink.Handle, l netlink.Link, to int) error {
	what := "move the interface " + s.options.Interface
	if s.wiphy == nil {
		if err := from.LinkSetNsFd(l, to); err != nil {
			return refused(what, err)
		}
		return nil
	}
	if err := moveRadio(*s.wiphy, to); err != nil {
		return refused(what, err)
	}
	return nil
}

func findInterface(h *netlink.Handle, name string) (netlink.Link, error) {
	l, err := h.LinkByName(name)
	if err == nil {
		return l, nil
	}
	if !errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, fmt.Errorf("find the interface %s: %w", name, err)
	}
	var names []string
	if all, err := h.LinkList(); err == nil {
		for _, l := range all {
			if l.Attrs().Flags&net.FlagLoopback == 0 {
				names = append(names, l.Attrs().Name)
			}
		}
	}
	there := "none but the loopback"
	if len(names) > 0 {
		there = strings.Join(names, ", ")
	}
	return nil, fmt.Errorf("no interface %s on this machine; known: %s: %w", name, there, os.ErrNotExist)
}

// examine refuses an interface that this machine needs itself.
func (s *Segment) examine(l netlink.Link) error {
	a := l.Attrs()
	busy := func(format string, args ...any) error {
		return &busyInterfaceError{a.Name, fmt.Sprintf(format, args...)}
	}
	if a.Flags&net.FlagLoopback != 0 {
		return busy("it is the loopback, which has no device behind it")
	}
	switch kind := l.Type(); kind {
	case "device", "dsa": // of hardware: the kernel gives them back, however this program ends
	case "veth": // for a machine that is a container itself: whoever made the pair makes it again
	default:
		return busy("it is one of the kernel's own (%s) and would not survive a crash; use a hardware interface", kind)
	}
	if a.MTU < MTU {
		return busy("it carries packets of up to %d bytes only, and a link %d", a.MTU, MTU)
	}
	all, err := s.origin.LinkList()
	if err != nil {
		return fmt.Errorf("ask the kernel for interfaces: %w", err)
	}
	for _, other := range all {
		o := other.Attrs()
		if a.MasterIndex == o.Index {
			return busy("it is part of %s", o.Name)
		}
		if o.ParentIndex == a.Index && o.NetNsID < 0 && other.Type() != "veth" {
			return busy("%s of this machine is on top of it", o.Name)
		}
	}
	ways, err := waysOut(s.origin, a.Index)
	if err != nil {
		return err
	}
	if len(ways) > 0 {
		return busy("it is this machine's way to %s, and taking it would cut the machine off", destination(&ways[0]))
	}
	return nil
}

// waysOut returns the routes through an interface that do not come with its addresses.
func waysOut(h *netlink.Handle, index int) (found []netlink.Route, err error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := h.RouteList(nil, family)
		if err != nil {
			if family == netlink.FAMILY_V6 && noIPv6() {
				continue
			}
			return nil, fmt.Errorf("ask the kernel for routes: %w", err)
		}
		for _, r := range all {
			through := r.LinkIndex == index
			for _, hop := range r.MultiPath {
				through = through || hop.LinkIndex == index
			}
			if through && r.Protocol != unix.RTPROT_KERNEL {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

func destination(r *netlink.Route) string {
	if r.Dst == nil {
		return "all other networks"
	}
	if bits, _ := r.Dst.Mask.Size(); bits == 0 {
		return "all other networks"
	}
	return r.Dst.String()
}

// remember is what an interface is now.
func remember(h *netlink.Handle, l netlink.Link) (n note, err error) {
	n = note{up: l.Attrs().Flags&net.FlagUp != 0, alias: l.Attrs().Alias}
	all, err := h.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return n, fmt.Errorf("ask the kernel for addresses: %w", err)
	}
	for _, a := range all {
		ip, ok := netip.AddrFromSlice(a.IP)
		bits, _ := a.Mask.Size()
		// Those that are lent to the machine for a time are put back by whoever asked for them.
		if ok && a.Flags&unix.IFA_F_PERMANENT != 0 && !ip.Unmap().IsLinkLocalUnicast() {
			n.addresses = append(n.addresses, netip.PrefixFrom(ip.Unmap(), bits))
		}
	}
	if len(n.String()) > maxNote {
		return n, &busyInterfaceError{l.Attrs().Name, "it has more addresses than are kept"}
	}
	return n, nil
}

// restore restores an interface from its note, if it has one, and returns its present state.
func restore(h *netlink.Handle, l netlink.Link) (netlink.Link, error) {
	name := l.Attrs().Name
	if !noted(l.Attrs().Alias) {
		return l, nil
	}
	n, err := parseNote(l.Attrs().Alias)
	if err != nil {
		return nil, fmt.Errorf("restore the interface %s: %w; remove its note with: ip link set %[1]s alias ''",
			name, err)
	}
	what := "give the interface " + name + " back what it had"
	for _, a := range n.addresses {
		if err := h.AddrReplace(l, &netlink.Addr{IPNet: netOf(a)}); err != nil {
			return nil, refused(what, err)
		}
	}
	if n.up {
		if err := h.LinkSetUp(l); err != nil {
			return nil, refused(what, err)
		}
	}
	if err := h.LinkSetAlias(l, n.alias); err != nil { // last: until then it can be tried again
		return nil, refused(what, err)
	}
	return findInterface(h, name)
}

// RestoreInterface restores an interface of the calling thread's network that was a segment of a
// killed program. An interface that is in use or missing is left unchanged.
func RestoreInterface(name string) error {
	if !interfaceName.MatchString(name) {
		return nil
	}
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("ask the kernel for interfaces: %w", err)
	}
	defer h.Close()
	l, err := h.LinkByName(name)
	if err != nil || !noted(l.Attrs().Alias) {
		return nil
	}
	lock, err := lockInterface(name)
	if errors.As(err, new(*busyInterfaceError)) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = restore(h, l)
	return errors.Join(err, lock.Close())
}

// settle is done in the device's namespace: the interface gets its addresses, and packets are
// forwarded between it and the link.
func (s *Segment) settle() error { return onInterface(s.options.Interface, s.settleOn) }

func (s *Segment) settleOn(h *netlink.Handle, l netlink.Link) error {
	name := s.options.Interface
	settings := [][2]string{{"ipv4/ip_forward", "1"}, {"ipv4/conf/all/send_redirects", "0"},
		{"ipv4/conf/default/send_redirects", "0"}}
	addresses := []netip.Prefix{SegmentAddress}
	if !noIPv6() {
		// There is nobody whose address it could be already.
		settings = append(settings, [2]string{"ipv6/conf/" + name + "/accept_dad", "0"},
			[2]string{"ipv6/conf/all/forwarding", "1"})
		addresses = append(addresses, SegmentAddress6)
	}
	for _, set := range settings {
		if err := os.WriteFile("/proc/sys/net/"+set[0], []byte(set[1]), 0); err != nil {
			if errors.Is(err, unix.EROFS) {
				return fmt.Errorf("enable forwarding in the namespace: %w; a service needs ProtectKernelTunables=false",
					err)
			}
			return refused("have the namespace forward packets", err)
		}
	}
	for _, a := range addresses {
		if err := h.AddrAdd(l, addressOf(a)); err != nil {
			return refused("give "+name+" the address "+a.String(), err)
		}
	}
	if s.wiphy != nil {
		return nil // hostapd starts it
	}
	if err := h.LinkSetUp(l); err != nil {
		return refused("start the interface "+name, err)
	}
	return nil
}

// answer adds or removes the servers' way back to the segment.
func (s *Segment) answer(change func(*netlink.Handle, *netlink.Route) error) error {
	return onInterface(tunName, func(h *netlink.Handle, l netlink.Link) error {
		for _, to := range []netip.Prefix{SegmentAddress.Masked(), SegmentAddress6.Masked()} {
			if to.Addr().Is6() && noIPv6() {
				continue
			}
			if err := change(h, &netlink.Route{LinkIndex: l.Attrs().Index, Dst: netOf(to),
				Table: unix.RT_TABLE_MAIN}); err != nil {
				return refused("lead the servers' answers to "+to.String(), err)
			}
		}
		return nil
	})
}

// Await waits until a device has been given an address, and returns that: the last one, if there
// were several.
func (s *Segment) Await(ctx context.Context) (Lease, error) {
	var ends []<-chan struct{}
	for _, v := range s.serving {
		ends = append(ends, v.ended)
	}
	ends = append(ends, nil, nil) // so that there are two
	select {
	case l := <-s.leases:
		return l, nil
	case <-ends[0]:
		return Lease{}, s.serving[0].why()
	case <-ends[1]:
		return Lease{}, s.serving[1].why()
	case <-ctx.Done():
		return Lease{}, fmt.Errorf("no device at %s has requested an address; is it on, and in this network? %w",
			s.options.Interface, context.Cause(ctx))
	}
}

// heard takes in what the program that gives addresses says.
func (s *Segment) heard(line string) {
	if s.options.Log != nil {
		s.options.Log(line)
	}
	l, ok := parseLease(line)
	if !ok {
		return
	}
	select { // the last one is kept
	case <-s.leases:
	default:
	}
	s.leases <- l // only here, on one goroutine
}

// Close gives the interface back. The link stays, and must be closed after.
func (s *Segment) Close() error {
	s.once.Do(func() { s.err = s.close() })
	return s.err
}

func (s *Segment) close() (err error) {
	for _, v := range s.serving {
		err = errors.Join(err, v.close())
	}
	if s.taken {
		err = errors.Join(err, s.giveBack())
	}
	if s.home >= 0 {
		err = errors.Join(err, unix.Close(s.home))
	}
	if s.origin != nil {
		s.origin.Close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close()) // last: whoever takes it next finds the interface
	}
	return err
}

func (s *Segment) giveBack() error {
	name := s.options.Interface
	err := s.packet.Device.Do(func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		l, err := h.LinkByName(name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil // it did not get here, or was pulled out
		}
		if err != nil {
			return err
		}
		return s.move(h, l, s.home)
	})
	if err == nil {
		err = s.packet.Server.Do(func() error { return s.answer(forgetRoute) })
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("give the interface %s back: %w", name, err)
	}
	l, err := findInterface(s.origin, name)
	if err != nil {
		return fmt.Errorf("give the interface %s back: %w", name, err)
	}
	_, err = restore(s.origin, l)
	return err
}

// forgetRoute removes a route, if it is there.
func forgetRoute(h *netlink.Handle, r *netlink.Route) error {
	if err := h.RouteDel(r); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}
