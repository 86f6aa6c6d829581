package session

import (
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

// Names of the servers on a run's own network. The green and the red page have their own name. So
// the device does not resolve the test page's name before it requests that page.
const (
	pageHost  = "page.test"
	greenHost = "green.test"
)

// Network is the network of a run: the conditions that were asked for, and those that probe packets
// measured before the run.
type Network struct {
	Profile  string         `json:"profile,omitempty"`
	Protocol suite.Protocol `json:"protocol,omitempty"` // with TLS; "": HTTP/1.1 without TLS, or the archive's own
	// the file with the secrets of TLS, which stays in the rig's run folder; "": none
	KeyLog string `json:"key_log,omitempty"`
	Seed   uint64 `json:"seed"` // of random decisions

	RTT  Asked[time.Duration] `json:"rtt_ns"`
	Down Asked[link.Rate]     `json:"down_bits_per_second"` // 0: not limited
	Up   Asked[link.Rate]     `json:"up_bits_per_second"`
	Loss Asked[float64]       `json:"loss_fraction"` // each way

	ProbePackets int `json:"probe_packets"` // of which Loss.Got is a part

	// Traffic of the run, as seen by names, link and servers.
	Requests     int    `json:"requests"`
	Missed       int    `json:"missed"`        // requests without a response to send
	NamesRefused int    `json:"names_refused"` // queries for names outside of the test world
	Connections  int    `json:"connections"`   // with a request
	BytesUp      uint64 `json:"bytes_up"`      // of IP packets, sent by the device
	BytesDown    uint64 `json:"bytes_down"`    // and received by it

	Replay *Replayed `json:"replay,omitempty"` // nil: no archive answered
}

// Asked is a figure as asked for and as measured.
type Asked[T any] struct {
	Asked T `json:"asked"`
	Got   T `json:"got"`
}

// checkNetwork checks the network that a test asks for. local states that it loads a server of this
// machine. It returns the archive that answers there; nil: none.
func checkNetwork(t *suite.Test, local bool) (read *replay.Archive, err error) {
	if !t.Network.Given() {
		return nil, nil
	}
	if local && t.Network.Protocol != "" {
		return nil, fmt.Errorf("test %s: %s has its own protocol; omit network.protocol", t.Name, t.URL)
	}
	if !local && t.Network.Replay == "" && (!t.Served() || len(loaded(t.Steps)) > 0) {
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

// checkNetworkOn checks if a device can have the network of a test.
func checkNetworkOn(t *suite.Test, local bool, d device.Description) error {
	switch {
	case !t.Network.Given():
		return nil
	case d.Source != device.Virtual && onThisMachine(d):
		return fmt.Errorf("test %s: a network needs a virtual display, and device %s has an existing one: %w",
			t.Name, d.Name, errors.ErrUnsupported)
	case d.Source != device.Virtual && d.Network == "":
		return fmt.Errorf("test %s: a network needs an interface of this machine for device %s, such as network: "+
			"eth3: %w", t.Name, d.Name, errors.ErrUnsupported)
	case d.Source != device.Virtual && local:
		return fmt.Errorf("test %s: a server of this machine needs a virtual display instead of device %s: %w", t.Name,
			d.Name, errors.ErrUnsupported)
	case t.Network.Replay != "" && d.Source != device.Virtual:
		return fmt.Errorf("test %s: an archive needs a virtual display instead of device %s: %w",
			t.Name, d.Name, errors.ErrUnsupported)
	case d.Input.Kind == device.InputWebdriver:
		return fmt.Errorf("test %s: a network cannot be used with the input webdriver: %w",
			t.Name, errors.ErrUnsupported)
	}
	return checkProtocolOn(t, d)
}

// runNetwork is the test network of a run.
type runNetwork struct {
	*testnet.Network
	link *runLink
	from timeline.Time // of the run: earlier packets are probes
}

// openNetwork makes the network that the test asks for, and probes it. It returns the figures of
// the probes also for a network that it refuses.
func (r *run) openNetwork(ctx context.Context, archive *replay.Archive, local *localServer) (*runNetwork, *Network,
	error) {
	asked, err := testnet.Conditions(r.Test.Network)
	if err != nil {
		return nil, nil, err
	}
	segment, err := r.segment(ctx)
	if err != nil {
		return nil, nil, err
	}
	o := testnet.Options{Conditions: asked, Seed: r.Seed, Names: []string{"*.test"}, Segment: segment}
	if local != nil {
		o.Names = append(o.Names, local.names()...)
	}
	if archive != nil {
		o.Names = []string{"*"} // the archive reports names that it does not have as misses
	}
	o.ALPN, o.Secure = spoken(r.Test, archive)
	o.Asked = func(q dns.Query) {
		r.log.Info("name", "client", q.Client, "name", q.Name, "type", q.Type, "result", string(q.Result))
	}
	n, err := testnet.Open(o)
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) {
		return nil, nil, fmt.Errorf("%w; omit network: in the test to run without a link", err)
	}
	if err != nil {
		return nil, nil, err
	}
	figures, err := r.probe(ctx, n, asked)
	if err != nil {
		return nil, figures, errors.Join(err, n.Close())
	}
	return &runNetwork{Network: n, link: &runLink{journal: r.journal, set: n.Set, now: asked},
		from: timeline.Monotonic().Now()}, figures, nil
}

// segment returns the options of the interface of the device; nil: a browser of this machine has
// none.
func (r *run) segment(ctx context.Context) (*link.SegmentOptions, error) {
	d, ok := description(r.Device)
	if !ok || d.Source == device.Virtual {
		return nil, nil
	}
	err := controlledBeside(ctx, d)
	if err != nil {
		return nil, err
	}
	o := &link.SegmentOptions{Interface: d.Network, Log: func(line string) { r.log.Debug("segment", "said", line) }}
	if o.AccessPoint, err = accessPointOf(d); err != nil {
		return nil, fmt.Errorf("device %s: %w", d.Name, err)
	}
	return o, nil
}

// maxPassphrase limits a file with a passphrase, in bytes.
const maxPassphrase = 1 << 10

// accessPointOf returns the wireless network of a device; nil: it has a cable.
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
	defer f.Close() // only read
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

// controlledBeside refuses a device whose input uses the interface of the test network. That
// interface leaves this machine's network during the run.
func controlledBeside(ctx context.Context, d device.Description) error {
	i, err := net.InterfaceByName(d.Network)
	if err != nil {
		return nil // opening the network reports it
	}
	if k := d.Input.Kind; k == device.InputAgent || k == device.InputWindows {
		if err := reachedBeside(ctx, d, i, "its input, "+string(k)+":"+d.Input.Target, d.Input.Target); err != nil {
			return err
		}
	}
	serial, android := d.Android()
	if android && serial == "" { // the only one may use that interface
		found, err := adb.Server{}.Find(ctx, "")
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
		serial = found.Serial
	}
	if strings.Contains(serial, "._tcp") {
		return fmt.Errorf("device %s: adb %s may use the interface %s, which the test network needs; give a "+
			"serial, or host:port: %w", d.Name, serial, d.Network, errors.ErrUnsupported)
	}
	if _, port, err := net.SplitHostPort(serial); err != nil {
		return nil // by a cable
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil // likewise: usb:1-2
	}
	return reachedBeside(ctx, d, i, "its adb, "+serial, serial)
}

// reachedBeside refuses a device whose host:port is reached by the interface.
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
		return fmt.Errorf("device %s: %s is reached by the interface %s, which the test network needs; use another "+
			"interface: %w", d.Name, what, d.Network, errors.ErrUnsupported)
	}
	return nil
}

// NotAsAsked begins the reason of a run whose link differs from the one that was asked for.
const NotAsAsked = "the network differs from the test's"

// probes limits the attempts to probe a network: a busy machine may distort one.
const probes = 3

// probe measures a network and refuses one that differs from the one that was asked for. It returns
// the last figures also then.
func (r *run) probe(ctx context.Context, n *testnet.Network, asked link.Conditions) (figures *Network, err error) {
	var off []string
	for range probes {
		got, err := n.Link.Probe(ctx)
		if err != nil {
			return figures, err
		}
		figures = &Network{
			Profile: r.Test.Network.Profile, Protocol: r.Test.Network.Protocol, Seed: r.Seed,
			RTT:  Asked[time.Duration]{asked.RTT(), got.RTT.Median},
			Down: Asked[link.Rate]{asked.Down.Rate, got.Down}, Up: Asked[link.Rate]{asked.Up.Rate, got.Up},
			Loss: Asked[float64]{(asked.Down.Loss + asked.Up.Loss) / 2,
				float64(got.Lost) / float64(max(1, got.Sent))},
			ProbePackets: got.Sent,
		}
		off = asked.Off(got)
		r.log.Info("network", "rtt", got.RTT.Median, "rtt p99", got.RTT.P99, "down", got.Down.String(), "up",
			got.Up.String(), "lost", got.Lost, "of", got.Sent, "off", strings.Join(off, "; "))
		if len(off) == 0 {
			return figures, nil
		}
	}
	return figures, fmt.Errorf("%s: %s", NotAsAsked, strings.Join(off, "; "))
}

// onNetwork listens on a test network.
func onNetwork(n *testnet.Network) listening {
	return listening{
		connections: func(port string) (net.Listener, string, error) {
			l, err := n.Listen(port)
			host := pageHost
			if port == greenPort || port == otherGreenPort {
				host = net.JoinHostPort(greenHost, port)
			}
			return l, host, err
		},
		packets: func(port string) (net.PacketConn, string, error) {
			c, err := n.ListenPacket(port)
			return c, pageHost, err
		},
		beside: func(port uint16) (net.Listener, string, error) {
			l, err := n.ListenBeside(port)
			if err != nil {
				return nil, "", err
			}
			return l, l.Addr().String(), nil
		},
		packetsBeside: n.ListenPacketBeside,
	}
}

// String returns the conditions that were asked for in few words.
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
