package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/x11"
)

// TestEgressPolicy: addresses of this machine are refused in all their forms, pages of the run's
// own and other machines are not.
//
// Fault: A page, script or typed address that leads to a service of the box
func TestEgressPolicy(t *testing.T) {
	o := &EgressPolicy{Pages: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8000"),
		netip.MustParseAddrPort("192.0.2.7:8000")}}
	interfaces := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("192.0.2.7"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2001:db8::7"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	for address, inside := range map[string]bool{
		"127.0.0.1:80": true, "127.0.0.1:8001": true, "127.255.0.9:80": true, "[::1]:80": true,
		"[::ffff:127.0.0.1]:80": true, "0.0.0.0:80": true, "[::]:80": true, "[::ffff:0.0.0.0]:80": true,
		"169.254.169.254:80": true, "[fe80::1]:80": true, "[fe80::1%eth0]:80": true, "224.0.0.1:80": true,
		"[ff02::1]:80": true,
		"192.0.2.7:80": true, "[::ffff:192.0.2.7]:80": true, "[2001:db8::7]:80": true, "[2001:db8::7%eth0]:80": true,
		"127.0.0.2:8000": true,
		"127.0.0.1:8000": false, "[::ffff:127.0.0.1]:8000": false, "192.0.2.7:8000": false, "192.0.2.8:80": false,
		"[2001:db8::8]:80": false, "198.51.100.1:8000": false,
	} {
		if err := o.check(address, interfaces); errors.Is(err, ErrInside) != inside || !inside && err != nil {
			t.Errorf("%s: %v, want inside %v", address, err, inside)
		}
	}
	for _, broken := range []string{"", "name:80", "127.0.0.1"} {
		if err := o.check(broken, interfaces); err == nil {
			t.Errorf("%q is taken for an address outside", broken)
		}
	}
	unknown := errors.New("nobody knows")
	if err := o.check("198.51.100.1:80", func() ([]net.Addr, error) { return nil, unknown }); !errors.Is(err, unknown) {
		t.Errorf("without the machine's addresses: %v", err)
	}
}

// TestEgressPolicyByRoute: an address is this machine's that a route makes so, though no interface
// has it.
func TestEgressPolicyByRoute(t *testing.T) {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not given back: it is in another network then
		result <- func() error {
			if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
				return err
			}
			// before, the kernel lets a socket have any address
			if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
				return fmt.Errorf("start the loopback: %w: %s", err, out)
			}
			o := new(EgressPolicy)
			none := func() ([]net.Addr, error) { return nil, nil }
			all := []string{"192.0.2.200:80", "[2001:db8:1::5]:80"}
			for _, address := range all {
				if err := o.check(address, none); err != nil {
					t.Errorf("without the route: %v", err)
				}
			}
			for _, args := range [][]string{{"route", "add", "local", "192.0.2.0/24", "dev", "lo"},
				{"-6", "route", "add", "local", "2001:db8:1::/48", "dev", "lo"}} {
				if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
					return fmt.Errorf("ip %q: %w: %s", args, err, out)
				}
			}
			for _, address := range all {
				if err := o.check(address, none); !errors.Is(err, ErrInside) {
					t.Errorf("%s, which leads to the loopback: %v", address, err)
				}
			}
			return nil
		}()
	}()
	err := <-result
	if errors.Is(err, os.ErrPermission) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzRoute6: whatever a line of routes is, it is read or refused.
func FuzzRoute6(f *testing.F) {
	f.Add("20010db8000100000000000000000000 30 00000000000000000000000000000000 00 00000000000000000000000000000000 " +
		"00000400 00000001 00000000 80200001       lo")
	f.Add("00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 " +
		"ffffffff 00000001 00000000 00200200       lo")
	f.Add("fe8 0x80 g 0 0 0 0 0 100000000 lo")
	f.Fuzz(func(t *testing.T, line string) {
		to, here, err := parseRoute6(line)
		if err != nil && here || err == nil && !to.IsValid() {
			t.Errorf("%v, %v, %v", to, here, err)
		}
	})
}

// own are addresses of this machine: loopback, and those of other interfaces that are not of a link
// alone.
func own(t *testing.T) (hosts []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil {
			hosts = append(hosts, ip.String())
		} else if !ip.IsLinkLocalUnicast() {
			hosts = append(hosts, "["+ip.String()+"]")
		}
	}
	return hosts
}

// listenAll listens at all addresses of this machine, and returns the port.
func listenAll(t *testing.T) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a server may have done that
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return l, port
}

// TestEgressPolicyDials: names and spellings that lead to this machine are found out when they are
// connected to.
func TestEgressPolicyDials(t *testing.T) {
	_, port := listenAll(t)
	for _, host := range append(own(t), "localhost", "127.0.0.2", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]") {
		c, err := (&EgressPolicy{}).DialContext(t.Context(), "tcp", host+":"+port)
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, ErrInside) {
			t.Errorf("%s: %v", host, err)
		}
	}
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	at := netip.MustParseAddrPort(page.Listener.Addr().String())
	c, err := (&EgressPolicy{Pages: []netip.AddrPort{at}}).DialContext(t.Context(), "tcp",
		fmt.Sprint("localhost:", at.Port()))
	if err != nil {
		t.Fatalf("the run's own page: %v", err)
	}
	_ = c.Close()
}

// TestEgressProxy: the proxy answers SOCKS requests. Bytes pass in both directions until each ends,
// and nothing is left.
func TestEgressProxy(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var echoing sync.WaitGroup
	defer echoing.Wait()
	defer echo.Close()
	echoing.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			all, _ := io.ReadAll(c) // what had come before it ended
			_, _ = c.Write(append([]byte("heard: "), all...))
			_ = c.Close() // the other side sees the missing data
		}
	})
	at := netip.MustParseAddrPort(echo.Addr().String())
	w, err := openEgressProxy(&EgressPolicy{Pages: []netip.AddrPort{at}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	port := string([]byte{byte(at.Port() >> 8), byte(at.Port())})
	ask := func(text string) string {
		t.Helper()
		c, err := net.Dial("tcp", w.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite() // who refuses may have closed it
		got, _ := io.ReadAll(c)           // a reset ends it too
		return string(got)
	}
	const hello, welcome, nowhere = "\x05\x01\x00", "\x05\x00", "\x00\x01\x00\x00\x00\x00\x00\x00"
	for name, tc := range map[string]struct{ ask, want string }{
		"an address": {hello + "\x05\x01\x00\x01\x7f\x00\x00\x01" + port + "hello", welcome + "\x05\x00" +
			nowhere + "heard: hello"},
		"a name": {"\x05\x02\x02\x00" + "\x05\x01\x00\x03\x09localhost" + port + "hello",
			welcome + "\x05\x00" + nowhere + "heard: hello"},
		"another port": {hello + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", welcome + "\x05\x02" + nowhere},
		"an address of six": {hello + "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01" + port,
			welcome + "\x05\x02" + nowhere},
		"a name of inside":    {hello + "\x05\x01\x00\x03\x09localhost\x00\x50", welcome + "\x05\x02" + nowhere},
		"a name with a space": {hello + "\x05\x01\x00\x03\x03a b\x00\x50", welcome + "\x05\x04" + nowhere},
		"no name":             {hello + "\x05\x01\x00\x03\x00\x00\x50", welcome + "\x05\x04" + nowhere},
		"to listen":           {hello + "\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", welcome + "\x05\x07" + nowhere},
		"UDP":                 {hello + "\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", welcome + "\x05\x07" + nowhere},
		"another kind":        {hello + "\x05\x01\x00\x02", welcome + "\x05\x08" + nowhere},
		"to log in":           {"\x05\x01\x02", "\x05\xff"},
		"no method":           {"\x05\x00", "\x05\xff"},
		"SOCKS 4":             {"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", ""},
		"HTTP":                {"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", ""},
		"half a request":      {hello + "\x05\x01\x00\x01\x7f", welcome},
		"nothing":             {"", ""},
	} {
		if got := ask(tc.ask); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	open, err := net.Dial("tcp", w.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := io.WriteString(open, hello); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(open, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	w.close()
	w.close() // again
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the way")
	}
	if len(w.open) != 0 {
		t.Errorf("%d connections stay", len(w.open))
	}
}

// said is a client that has said all it says, and keeps what it is answered.
type said struct {
	io.Reader
	answers bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) { return s.answers.Write(b) }

// FuzzSocks: whatever is asked, where it leads to is a host and a port on one line, or it is
// refused.
//
// Fault: A page, script or typed address that leads to a service of the box
func FuzzSocks(f *testing.F) {
	for _, seed := range []string{
		"", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
		"\x05\x02\x02\x00\x05\x01\x00\x03\x09localhost\x00\x50", "\x05\x01\x00\x05\x01\x00\x04" +
			strings.Repeat("\x01", 18),
		"\x05\xff" + strings.Repeat("\x00", 255) + "\x05\x01\x00\x03\xff" + strings.Repeat("a", 257),
		"\x05\x01\x00\x05\x02\x00\x01", "\x04\x01", "\x05\x01\x00\x05\x01\x00\x03\x03a:b\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x03\x03[:0\x00\x50", // net.SplitHostPort misses the other bracket
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &said{Reader: bytes.NewReader(text)}
		to, err := socksAsked(c)
		if (err == nil) != (to != "") || c.answers.Len() > 12 {
			t.Fatalf("%q, %v, %d bytes of answers", to, err, c.answers.Len())
		}
		if err != nil {
			return
		}
		if host, port, err := net.SplitHostPort(to); err != nil || host == "" || port == "" ||
			strings.ContainsAny(to, " \r\n\x00") {
			t.Fatalf("%q: %v", to, err)
		}
	})
}

// reachesServices lets a browser try to reach a service of this machine. It tries every way that a
// test and its pages have. It uses all names and addresses that the machine has for itself. It
// reaches the run's own page directly. Then it tries files.
func reachesServices(t *testing.T, k kind, path string, untrusted bool) {
	hosts := own(t)
	machine := len(hosts)
	hosts = append(hosts, "localhost", "x.localhost", "127.1", "2130706433", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]")
	// for a machine that is busy with other things
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute+time.Duration(len(hosts))*20*time.Second)
	defer cancel()
	display, err := StartDisplay(ctx, DisplayOptions{Width: 800, Height: 600})
	need(t, err)
	defer display.Close()

	var mu sync.Mutex
	reached := map[string]bool{}
	changed := make(chan struct{}, 1) // the reached services
	reach := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		reached[what] = true
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	l, port := listenAll(t)
	secret := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reach(r.URL.Path)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>y</title><script>
if (parent === window) `+tellShown+`</script>`)
		})}}
	secret.Start()
	defer secret.Close()

	var tries strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&tries, "tries.push([%q, %d]);\n", host+":"+port, i)
	}
	// WebRTC and WebTransport send datagrams, and WebRTC connects to servers by TCP, too.
	for _, way := range datagramWays {
		fmt.Fprintf(&tries, "const %s = %q;\n", way, listenDatagrams(t, func() { reach("/" + way) }))
	}
	fmt.Fprintf(&tries, "const turnTCP = %q, here = %s;\n", listenStream(t, func() { reach("/turnTCP") }),
		datagramHosts(hosts[:machine]))
	// a page and its frames: forbidden ones get less time, and some browsers report no end
	patience := time.Minute
	if untrusted {
		patience = 5 * time.Second
	}
	files := serveFilePage(ctx)
	defer files.Close()
	var shown atomic.Pointer[Browser]
	heard := make(chan string, 100)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b := shown.Load(); b != nil && b.proxy != nil && comesBy(b.proxy, r.RemoteAddr) {
			t.Errorf("%s came by the way that others' tests take to the network", r.URL.Path)
		}
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "no-store")
		switch r.URL.Path {
		case "/try":
			fmt.Fprintf(w, `<title>x</title><body><script>
const tries = [];
%s
const frame = to => new Promise(done => {
	const f = document.createElement("iframe");
	f.onload = f.onerror = done;
	f.src = to;
	document.body.append(f);
	setTimeout(done, %d);
});
const socket = to => new Promise(done => {
	try { const s = new WebSocket(to); s.onopen = s.onerror = s.onclose = done; } catch { done(); }
});
const work = "fetch('http://127.0.0.1:%s/worker', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(0))";
const worker = () => new Promise(done => {
	const w = new Worker(URL.createObjectURL(new Blob([work])));
	w.onmessage = w.onerror = done;
});
const later = () => new Promise(done => setTimeout(done, 5000)); // for datagrams: their sender hears nothing
const kept = []; // a connection that is not kept may be collected before it has sent
const servers = async () => {
	const p = new RTCPeerConnection({iceServers: here.flatMap(host => [
		{urls: "stun:" + host + ":" + stun},
		{urls: ["turn:" + host + ":" + turn, "turn:" + host + ":" + turnTCP + "?transport=tcp"],
			username: "u", credential: "p"},
	])});
	kept.push(p);
	p.createDataChannel("x");
	await p.setLocalDescription(await p.createOffer());
};
const peers = async () => {
	const a = new RTCPeerConnection(), b = new RTCPeerConnection();
	kept.push(a, b);
	a.createDataChannel("x");
	await a.setLocalDescription(await a.createOffer());
	await b.setRemoteDescription(a.localDescription);
	await b.setLocalDescription(await b.createAnswer());
	await a.setRemoteDescription(b.localDescription);
	const candidate = host => "candidate:1 1 udp 2122260223 " + host + " " + peer + " typ host";
	for (const host of here) await a.addIceCandidate({candidate: candidate(host), sdpMid: "0", sdpMLineIndex: 0});
};
const webTransport = () =>
	Promise.all(here.map(host => new WebTransport("https://" + host + ":" + transport + "/").ready));
const sends = () => { for (const send of [servers, peers, webTransport]) (async () => send())().catch(() => 0); };
sends();
setInterval(sends, 5000); // browsers give up on a busy machine
Promise.all([later(), worker(), ...tries.flatMap(([host, i]) => [
	fetch("http://" + host + "/fetch/" + i, {mode: "no-cors"}).catch(() => 0),
	frame("http://" + host + "/frame/" + i), socket("ws://" + host + "/socket/" + i),
	frame("/away?to=" + encodeURIComponent("http://" + host + "/redirect/" + i)),
])]).then(() => fetch("/tried"));
</script>`, tries.String(), patience.Milliseconds(), port)
		case "/link":
			fmt.Fprintf(w, `<title>x</title>
<a style="position: fixed; inset: 0; background: #00f" href="http://127.0.0.1:%s/link"></a>
<script>`+tellShown+`</script>`, port)
		default:
			fmt.Fprint(w, `<title>x</title><script>onload = () => fetch("/shown" + location.pathname)</script>`)
		}
		select {
		case heard <- r.URL.Path:
		case <-ctx.Done():
		}
	}))
	defer page.Close()
	hears := func(ctx context.Context, want string) bool {
		for {
			select {
			case got := <-heard:
				if got == want {
					return true
				}
			case <-ctx.Done():
				return false
			}
		}
	}
	await := func(want string) {
		t.Helper()
		if !hears(ctx, want) {
			t.Fatalf("%s was not asked for", want)
		}
	}
	// What others' tests reach of the network, they reach by names, too: a page at a name, which is
	// not gone to directly.
	var far atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b := shown.Load(); b != nil && b.proxy != nil && comesBy(b.proxy, r.RemoteAddr) {
			far.Store(true)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>x</title><script>onload = () => location.href = %q</script>`, page.URL+"/back")
	}))
	defer elsewhere.Close()

	o := BrowserOptions{Display: display, URL: page.URL + "/first", Bars: true, Untrusted: untrusted}
	named := netip.MustParseAddrPort(elsewhere.Listener.Addr().String())
	if untrusted {
		o.Egress = &EgressPolicy{Pages: []netip.AddrPort{netip.MustParseAddrPort(page.Listener.Addr().String()),
			netip.MustParseAddrPort(files.Listener.Addr().String()), named}}
	}
	b, err := startBrowser(ctx, k, path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	shown.Store(b)
	hand, err := x11.Open(display.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	typed := Typed{Input: hand, Bar: blank("x").AddressBar}
	goTo := func(address, want string) {
		t.Helper()
		goUntil(ctx, t, typed, address, func(ctx context.Context) bool { return hears(ctx, want) })
	}
	// reaches waits until the service is reached in a way. Of a page it is when that is shown: an
	// address that is typed earlier is lost.
	reaches := func(ctx context.Context, what string) bool {
		for {
			mu.Lock()
			there := reached[what]
			mu.Unlock()
			if there {
				return true
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return false
			}
		}
	}
	// wait gives an action time to reach the service where it must not: more than it took where it
	// does.
	wait := func() {
		t.Helper()
		later := []input.Timed{{After: 2 * time.Second, Actions: []input.Action{input.Move{X: 400, Y: 400}}}}
		if err := input.Play(ctx, hand, timeline.Monotonic().Now(), later, nil); err != nil {
			t.Fatal(err)
		}
	}
	// tryTo loads a service in a browser without restrictions.
	tryTo := func(address, what string) {
		t.Helper()
		if !untrusted {
			goUntil(ctx, t, typed, address, func(ctx context.Context) bool { return reaches(ctx, "/shown"+what) })
			return
		}
		_, err := typed.Go(ctx, address)
		need(t, err)
		wait()
	}
	await("/shown/first")
	goTo(page.URL+"/try", "/try")
	await("/tried")
	if !untrusted {
		sending, enough := context.WithTimeout(ctx, 3*time.Minute)
		defer enough()
		for _, way := range append(slices.Clone(datagramWays), "turnTCP") {
			if !reaches(sending, "/"+way) {
				t.Errorf("%s sends nothing anyway: that it does not shows nothing", way)
			}
		}
	}
	// Pages have gone to all hosts. An address that is typed takes the same way, so one of each
	// sort is typed: an address, a name, a number and an address of an interface.
	for i, host := range hosts {
		if host != "localhost" && host != "2130706433" && i != 0 && i != machine-1 {
			continue
		}
		tryTo(fmt.Sprintf("http://%s:%s/typed/%d", host, port, i), fmt.Sprint("/typed/", i))
	}
	tryTo(page.URL+"/away?to=http://127.0.0.1:"+port+"/redirected", "/redirected")
	goTo(page.URL+"/link", "/shown/link")
	click := []input.Timed{
		{After: 0, Actions: []input.Action{input.Move{X: 400, Y: 400}}},
		{After: barHeld, Actions: []input.Action{input.ButtonDown{Button: input.Left}}},
		{After: 2 * barHeld, Actions: []input.Action{input.ButtonUp{Button: input.Left}}},
	}
	if err := input.Play(ctx, hand, timeline.Monotonic().Now(), click, nil); err != nil {
		t.Fatal(err)
	}
	if untrusted {
		wait()
	} else if !reaches(ctx, "/shown/link") {
		t.Fatal("what the link leads to is not reached anyway: that it is not shows nothing")
	}
	goTo(fmt.Sprintf("http://localhost:%d/", named.Port()), "/shown/back")
	readsFiles(ctx, t, k, untrusted, hand, files)

	mu.Lock()
	defer mu.Unlock()
	if untrusted {
		for r := range reached {
			t.Errorf("%s was reached", r)
		}
		if !far.Load() {
			t.Error("what is outside was not reached by the way there")
		}
		return
	}
	want := []string{"/worker"}
	for i := range hosts {
		want = append(want, fmt.Sprint("/frame/", i), fmt.Sprint("/redirect/", i), fmt.Sprint("/fetch/", i),
			fmt.Sprint("/socket/", i))
	}
	for _, w := range want {
		if !reached[w] {
			t.Errorf("%s (of %s) is not reached anyway: that it is not shows nothing", w, hosts)
		}
	}
}

// tellShown is a page's script that reports when a browser has shown the page, even on a busy
// machine. Before that, Chromium drops clicks.
const tellShown = `onload = () => requestAnimationFrame(() => requestAnimationFrame(() =>
	setTimeout(() => fetch("/shown" + location.pathname), 500)));`

// datagramWays are ways in which a page sends datagrams, each to its own port. They go to a STUN
// server, a TURN server, a peer and a server of WebTransport.
var datagramWays = []string{"stun", "turn", "peer", "transport"}

// datagramHosts are addresses of this machine for datagrams, in JavaScript. They are the
// loopback's, and another of IPv4, since Firefox does not send datagrams to the loopback.
func datagramHosts(hosts []string) string {
	all := []string{"127.0.0.1"}
	for _, h := range hosts {
		if ip, err := netip.ParseAddr(h); err == nil && ip.Is4() && !ip.IsLoopback() {
			all = append(all, h)
			break
		}
	}
	return "['" + strings.Join(all, "', '") + "']"
}

// listenDatagrams calls heard for each datagram that comes to the port that it returns.
func listenDatagrams(t *testing.T, heard func()) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 1<<16); ; {
			if _, _, err := c.ReadFrom(b); err != nil {
				return // it is closed
			}
			heard()
		}
	}()
	t.Cleanup(func() {
		_ = c.Close() // ends the reading
		<-ended
	})
	return strconv.Itoa(c.LocalAddr().(*net.UDPAddr).Port)
}

// listenStream calls heard for each connection to the port that it returns.
func listenStream(t *testing.T, heard func()) string {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			heard()
			_ = c.Close() // it wants no more
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // ends the accepting
		<-ended
	})
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// comesBy reports whether a connection comes from the proxy.
func comesBy(w *egressProxy, remote string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		if c.LocalAddr().String() == remote {
			return true
		}
	}
	return false
}
