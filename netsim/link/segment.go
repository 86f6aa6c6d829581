package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// SegmentOptions say what takes the device's side of a packet link.
type SegmentOptions struct {
	Interface   string       // of this machine, such as eth3: the device is behind it, and nothing else should be
	AccessPoint *AccessPoint // what devices find there without a cable; nil: the interface has one
	// gets the output of the programs that serve the segment; may be nil
	Log func(line string)
}

// Lease is an address that a device of a segment has been given.
type Lease struct {
	Address netip.Addr
	MAC     string
	Name    string // as the device calls itself; "": it does not
}

// Addresses of a segment. Each is in a namespace of its own, so that all segments have the same.
var (
	SegmentAddress  = netip.MustParsePrefix("198.18.1.1/24")
	SegmentAddress6 = netip.MustParsePrefix("2001:2:0:1::1/64")

	firstLease = netip.MustParseAddr("198.18.1.10")
	lastLease  = netip.MustParseAddr("198.18.1.199")
)

// missingError says that a program is not installed that a segment takes.
type missingError struct{ Program, For, Package string }

func (e *missingError) Error() string {
	return fmt.Sprintf("%s is not installed, %s: apt-get install --no-install-recommends %s", e.Program, e.For,
		e.Package)
}

// busyInterfaceError says why an interface is not to be taken for a segment.
type busyInterfaceError struct{ Interface, Why string }

func (e *busyInterfaceError) Error() string {
	return fmt.Sprintf("the interface %s cannot be a device's side of a test network: %s", e.Interface, e.Why)
}

// interfaceName is what Linux takes for one, less what would mean something in the configuration of
// programs.
var interfaceName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)

// check says what cannot be.
func (o *SegmentOptions) check() error {
	if !interfaceName.MatchString(o.Interface) {
		return fmt.Errorf("%q is not a name of an interface, such as eth3", o.Interface)
	}
	if o.AccessPoint != nil {
		return o.AccessPoint.Check()
	}
	return nil
}

// addressing is the configuration of dnsmasq: addresses, gateway and name server, by DHCP and by
// router advertisements (RFC 2131, RFC 4861, RFC 8106). It does not answer names: the servers' end,
// behind the link, does. All state is in memory.
func (o *SegmentOptions) addressing(ipv6 bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("interface=%s", o.Interface)
	line("bind-dynamic")
	line("port=0")
	line("no-hosts")
	line("no-resolv")
	line("user=root") // it keeps its user: another one would not end with this program
	line("group=root")
	line("pid-file=")
	line("leasefile-ro")
	line("log-facility=-")
	line("dhcp-authoritative")
	line("no-ping") // nobody else gives addresses here
	line("dhcp-lease-max=%d", maxLeases)
	mask := net.IP(net.CIDRMask(SegmentAddress.Bits(), 32))
	line("dhcp-range=%s,%s,%s,1h", firstLease, lastLease, mask)
	line("dhcp-option=option:router,%s", SegmentAddress.Addr())
	line("dhcp-option=option:dns-server,%s", ServerAddress.Addr())
	line("dhcp-option=option:mtu,%d", MTU)
	if ipv6 {
		line("enable-ra")
		line("ra-param=%s,mtu:%d,10,1800", o.Interface, MTU)
		line("dhcp-range=%s,ra-stateless,%d,1h", SegmentAddress6.Masked().Addr(), SegmentAddress6.Bits())
		line("dhcp-option=option6:dns-server,[%s]", ServerAddress6.Addr())
	}
	return b.String()
}

// maxLeases is how many a segment gives: a device that says it is another one again and again gets
// no more.
const maxLeases = 64

// acknowledged matches dnsmasq's report of an address that a device has taken.
var acknowledged = pattern.New(`\bDHCPACK\([^)\s]+\) (\S+) ([0-9a-f]{2}(?::[0-9a-f]{2}){5})(?: (\S{0,255}))?$`)

// parseLease finds a lease in a line of dnsmasq's.
func parseLease(line string) (l Lease, ok bool) {
	m := acknowledged.FindStringSubmatch(line)
	if m == nil {
		return l, false
	}
	a, err := netip.ParseAddr(m[1])
	if err != nil || !SegmentAddress.Contains(a) {
		return l, false
	}
	return Lease{a, m[2], m[3]}, true
}

// note is the former state of an interface. It is written as the interface's alias (ip link set
// alias), a short text in the kernel for its administrator. So it moves with the interface and
// lasts as long. It remains after this program was killed.
type note struct {
	up        bool
	addresses []netip.Prefix
	alias     string // the former alias
}

const (
	noteMark = "eideticker-segment:"
	maxNote  = 255 // bytes, IFALIASZ less its zero
)

func (n *note) String() string {
	state := "down"
	if n.up {
		state = "up"
	}
	words := []string{noteMark, state}
	for _, a := range n.addresses {
		words = append(words, a.String())
	}
	return strings.Join(words, " ") + ";" + n.alias
}

// noted reports whether an interface's alias is a note.
func noted(alias string) bool { return strings.HasPrefix(alias, noteMark) }

// parseNote reads a note.
func parseNote(s string) (n note, err error) {
	text, ok := strings.CutPrefix(s, noteMark)
	head, alias, whole := strings.Cut(text, ";")
	words := strings.Fields(head)
	if !ok || !whole || len(s) > maxNote || len(words) == 0 || words[0] != "up" && words[0] != "down" {
		return n, errors.New("the note of what the interface was is not whole")
	}
	n = note{up: words[0] == "up", alias: alias}
	for _, w := range words[1:] {
		a, err := netip.ParsePrefix(w)
		if err != nil {
			return n, fmt.Errorf("the note of what the interface was: %w", err)
		}
		n.addresses = append(n.addresses, a)
	}
	return n, nil
}
