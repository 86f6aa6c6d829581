package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
)

// What a test page's server, and that of the green and the red page, are called on a network of its
// run's own: a name each, so that the page's is not known before the page is asked for.
const (
	pageHost  = "page.test"
	greenHost = "green.test"
)

// Network is the network that a run was made on: what was asked of it, and what packets through it
// found right before.
type Network struct {
	Profile  string         `json:"profile,omitempty"`
	Protocol suite.Protocol `json:"protocol,omitempty"` // with TLS; "": HTTP/1.1 without TLS, or the archive's own
	// the file with the secrets of TLS, which stays where the run was made; "": nobody has them
	KeyLog string `json:"key_log,omitempty"`
	Seed   uint64 `json:"seed"` // of what chance decided

	RTT  Asked[time.Duration] `json:"rtt_ns"`
	Down Asked[link.Rate]     `json:"down_bits_per_second"` // 0: not limited
	Up   Asked[link.Rate]     `json:"up_bits_per_second"`
	Loss Asked[float64]       `json:"loss_fraction"` // each way

	ProbePackets int `json:"probe_packets"` // of which Loss.Got is a part

	// What went over it in the run, as names, line and servers have seen it.
	Requests     int    `json:"requests"`
	Missed       int    `json:"missed"`        // of them, that there was nothing to answer with
	NamesRefused int    `json:"names_refused"` // queries for names that are none of the test world's
	Connections  int    `json:"connections"`   // over which something was asked
	BytesUp      uint64 `json:"bytes_up"`      // of IP packets, that the device sent
	BytesDown    uint64 `json:"bytes_down"`    // and was given

	Replay *Replayed `json:"replay,omitempty"` // where an archive answered
}

// Asked is a figure as it was asked, and as it was found.
type Asked[T any] struct {
	Asked T `json:"asked"`
	Got   T `json:"got"`
}

// checkNetwork says why a test cannot have the network that it asks for, and returns the archive
// that answers there; nil: there is none.
func checkNetwork(t *suite.Test) (read *replay.Archive, err error) {
	if !t.Network.Given() {
		return nil, nil
	}
	if t.Network.Replay == "" && (t.Page == "" || len(loaded(t.Steps)) > 0) {
		return nil, fmt.Errorf("test %s: a network needs a built-in page or an archive, not a live address", t.Name)
	}
	if i := slices.IndexFunc(addresses(t), func(a string) bool { return strings.HasPrefix(a, "file:") }); i >= 0 {
		return nil, fmt.Errorf("test %s: a network cannot serve the file %s", t.Name,
			addresses(t)[i])
	}
	if t.Network.Replay != "" {
		if read, err = readArchive(t); err != nil {
			return nil, err
		}
	}
	_, err = testnet.Conditions(t.Network)
	return read, err
}

// checkNetworkOn says why a device cannot have one.
func checkNetworkOn(t *suite.Test, d device.Description) error {
	switch {
	case !t.Network.Given():
		return nil
	case d.Source != device.Virtual && onThisMachine(d):
		return fmt.Errorf("test %s: a network needs a virtual display, and device %s has an existing one: %w", t.Name, d.Name, errors.ErrUnsupported)
	case d.Source != device.Virtual && d.Network == "":
		return fmt.Errorf("test %s: a network needs an interface of this machine for device %s, such as network: eth3: %w", t.Name, d.Name, errors.ErrUnsupported)
	case t.Network.Replay != "" && d.Source != device.Virtual:
		return fmt.Errorf("test %s: an archive needs a virtual display instead of device %s: %w", t.Name, d.Name, errors.ErrUnsupported)
	case d.Input.Kind == device.InputWebdriver:
		return fmt.Errorf("test %s: a network cannot be used with the input webdriver: %w", t.Name, errors.ErrUnsupported)
	}
	return checkProtocolOn(t, d)
}

// openNetwork makes the network that a test asks for, and probes it; nil: it asks for none. One
// that is not what was asked is none.
func (s *session) openNetwork(ctx context.Context) (*testnet.Network, error) {
	if !s.Test.Network.Given() {
		return nil, nil
	}
	asked, err := testnet.Conditions(s.Test.Network)
	if err != nil {
		return nil, err
	}
	segment, err := s.segment(ctx)
	if err != nil {
		return nil, err
	}
	o := testnet.Options{Conditions: asked, Seed: s.Seed, Names: []string{"*.test"}, Segment: segment}
	if s.Test.Network.Replay != "" {
		o.Names = []string{"*"} // what was not recorded is missed by the archive, which says so
	}
	o.ALPN, o.Secure = spoken(s.Test, s.archive)
	o.Asked = func(q dns.Query) {
		s.log.Info("name", "client", q.Client, "name", q.Name, "type", q.Type, "result", string(q.Result))
	}
	n, err := testnet.Open(o)
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) {
		return nil, fmt.Errorf("%w; omit network: in the test to run without a link", err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.probe(ctx, n, asked); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	s.lineFrom, s.line = timeline.Monotonic().Now(), asked
	return n, nil
}

// segment is the interface behind which the device is; nil: it is a browser of this machine.
func (s *session) segment(ctx context.Context) (*link.SegmentOptions, error) {
	d, ok := description(s.Device)
	if !ok || d.Source == device.Virtual {
		return nil, nil
	}
	err := controlledBeside(ctx, d)
	if err != nil {
		return nil, err
	}
	o := &link.SegmentOptions{Interface: d.Network, Log: func(line string) { s.log.Debug("segment", "said", line) }}
	if o.AccessPoint, err = accessPointOf(d); err != nil {
		return nil, fmt.Errorf("device %s: %w", d.Name, err)
	}
	return o, nil
}

// maxPassphrase is what is read of a file that holds one, bytes.
const maxPassphrase = 1 << 10

// accessPointOf is the wireless network by which a device is fed; nil: it has a cable.
func accessPointOf(d device.Description) (*link.AccessPoint, error) {
	if d.AccessPoint == "" {
		return nil, nil
	}
	a, err := device.ParseAccessPoint(d.AccessPoint)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(a.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("read the passphrase of its access point: %w", err)
	}
	defer f.Close() // was only read
	text, err := io.ReadAll(io.LimitReader(f, maxPassphrase))
	if err != nil {
		return nil, fmt.Errorf("read the passphrase of its access point: %w", err)
	}
	made := &link.AccessPoint{SSID: a.SSID, Passphrase: strings.TrimRight(string(text), "\r\n"), Channel: a.Channel,
		Country: a.Country}
	if err := made.Check(); err != nil {
		return nil, fmt.Errorf("access-point: %w", err)
	}
	return made, nil
}

// controlledBeside refuses a device that is told what to do by the interface that would be taken
// away from this machine.
func controlledBeside(ctx context.Context, d device.Description) error {
	i, err := net.InterfaceByName(d.Network)
	if err != nil {
		return nil // which is told by who wants the interface itself
	}
	if k := d.Input.Kind; k == device.InputAgent || k == device.InputWindows {
		if err := reachedBeside(ctx, d, i, "its input, "+string(k)+":"+d.Input.Target, d.Input.Target); err != nil {
			return err
		}
	}
	serial, android := d.Android()
	if android && serial == "" { // the only one, which perhaps was connected by that interface
		found, err := adb.Server{}.Find(ctx, "")
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
		serial = found.Serial
	}
	if strings.Contains(serial, "._tcp") {
		return fmt.Errorf("device %s: adb %s may use the interface %s, which the test network needs; give a serial, or host:port: %w", d.Name, serial, d.Network, errors.ErrUnsupported)
	}
	if _, port, err := net.SplitHostPort(serial); err != nil {
		return nil // by a cable
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil // likewise: usb:1-2
	}
	return reachedBeside(ctx, d, i, "its adb, "+serial, serial)
}

// reachedBeside does so with what of a device is reached at host:port.
func reachedBeside(ctx context.Context, d device.Description, i *net.Interface, what, at string) error {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	_, zone, _ := strings.Cut(host, "%")
	own, err := i.Addrs()
	if err != nil {
		return fmt.Errorf("ask for the addresses of %s: %w", d.Network, err)
	}
	through := zone == d.Network
	if zone == "" {
		addresses, err := net.DefaultResolver.LookupIP(ctx, "ip", host)
		if err != nil {
			return fmt.Errorf("resolve %s: %w", host, err)
		}
		for _, a := range own {
			n, ok := a.(*net.IPNet)
			through = through || ok && slices.ContainsFunc(addresses, n.Contains)
		}
	}
	if through {
		return fmt.Errorf("device %s: %s is reached by the interface %s, which the test network needs; use another interface: %w", d.Name, what, d.Network, errors.ErrUnsupported)
	}
	return nil
}

// joinTimeout is how long a device may take to notice its network and to ask for an address, if its
// run does not say.
const joinTimeout = 2 * time.Minute

// joined waits until the device is on the network that is the run's own.
func (s *session) joined(ctx context.Context) error {
	limit := cmp.Or(s.join, joinTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timeout after %v", limit))
	defer cancel()
	lease, err := s.network.Await(ctx)
	if err != nil {
		return err
	}
	s.log.Info("on the network", "address", lease.Address.String(), "mac", lease.MAC, "name", lease.Name)
	return nil
}

// NotAsAsked begins the reason of a run that was not made, since its line is another than was asked
// for.
const NotAsAsked = "the network does not do what was asked of it"

// probes is how often a network is probed before it is refused: a machine that was busy with
// something else for a moment may have been why.
const probes = 3

// probe looks whether a network does what was asked, and records what it does.
func (s *session) probe(ctx context.Context, n *testnet.Network, asked link.Conditions) error {
	var off []string
	for range probes {
		got, err := n.Link.Probe(ctx)
		if err != nil {
			return err
		}
		s.record.Network = &Network{
			Profile: s.Test.Network.Profile, Protocol: s.Test.Network.Protocol, Seed: s.Seed,
			RTT:  Asked[time.Duration]{asked.RTT(), got.RTT.Median},
			Down: Asked[link.Rate]{asked.Down.Rate, got.Down}, Up: Asked[link.Rate]{asked.Up.Rate, got.Up},
			Loss: Asked[float64]{(asked.Down.Loss + asked.Up.Loss) / 2,
				float64(got.Lost) / float64(max(1, got.Sent))},
			ProbePackets: got.Sent,
		}
		off = asked.Off(got)
		s.log.Info("network", "rtt", got.RTT.Median, "rtt p99", got.RTT.P99, "down", got.Down.String(), "up",
			got.Up.String(), "lost", got.Lost, "of", got.Sent, "off", strings.Join(off, "; "))
		if len(off) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %s", NotAsAsked, strings.Join(off, "; "))
}

// onNetwork listens where the devices of a network find it.
func onNetwork(n *testnet.Network) listening {
	return listening{
		connections: func(port string) (net.Listener, string, error) {
			l, err := n.Listen(port)
			host := pageHost
			if port == greenPort {
				host = net.JoinHostPort(greenHost, port)
			}
			return l, host, err
		},
		packets: func(port string) (net.PacketConn, string, error) {
			c, err := n.ListenPacket(port)
			return c, pageHost, err
		},
	}
}

// String is a network in few words.
func (n *Network) String() string {
	rate := func(r link.Rate) string {
		if r == 0 {
			return "unlimited"
		}
		return r.String()
	}
	text := fmt.Sprintf("%s down, %s up, RTT %v", rate(n.Down.Asked), rate(n.Up.Asked), n.RTT.Asked)
	if n.Loss.Asked > 0 {
		text += fmt.Sprintf(", %.3g %% lost", 100*n.Loss.Asked)
	}
	if n.Profile != "" {
		text = n.Profile + ": " + text
	}
	if n.Protocol != "" {
		text += ", " + string(n.Protocol)
	}
	return text
}
