package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// BrowserOptions say which browser to start, where, and with what.
type BrowserOptions struct {
	Name    string   // "chromium" or "firefox"; "" for the first that is installed
	Program string   // its file; "": the installed one
	Display *Display // where it is shown, or nil for the one that On names
	On      string   // name of a display (":0") that this package has not started
	URL     string   // first page: http, https or file; data or about:
	Bars    bool     // a window with tabs and an address bar, instead of the page alone
	Remote  bool     // it listens for WebDriver BiDi on this machine, see Endpoint; firefox alone does
	Inspect bool     // its pages can be inspected, see Pipe and Endpoint
	// Untrusted keeps the browser from the files of this machine.
	Untrusted bool
	// Egress limits the addresses that the browser reaches; nil: no limit. It is not for browsers
	// in a network of their own: in there, this machine has no services.
	Egress *EgressPolicy
	// Proxy is the host:port of an HTTP proxy for all requests; "": none. It excludes Egress.
	Proxy string
	// Instead replaces a server of this machine; nil: none. It excludes Egress and Proxy.
	Instead *Instead
	// Authority is trusted to certify servers; nil: nobody is but those whom the browser trusts by
	// itself.
	Authority *Authority
	Timeout   time.Duration // until its window fills the screen; 0: 3 minutes
	// Start starts its program, where that is to be in a network of its own. The program ends with
	// the thread that did it, if that ends. nil: as programs are started.
	Start func(*exec.Cmd) error

	profiles string // folder in which its profile is made; "": see profileBase
}

// Browser is a browser with a new profile that fills a display.
type Browser struct {
	name, version string
	process       *process
	endpoint      string // name of the file in which it says where it listens; "": it does not
	pipe          *pipe  // to its developer tools; nil: none
	profile       *profile
	proxy         *egressProxy  // by which it reaches the network; nil: as this machine does
	done          chan struct{} // closed when the profile is gone too
	started       timeline.Interval
}

// StartBrowser starts a browser and returns when its window fills the display exactly. It ends with
// ctx, with Close, or with this process, together with every process that it started.
func StartBrowser(ctx context.Context, o BrowserOptions) (*Browser, error) {
	if err := checkURL(o.URL); err != nil {
		return nil, err
	}
	kind, path, err := findBrowser(o.Name)
	if o.Program != "" {
		kind, path, err = openProgram(o.Program)
	}
	if err != nil {
		return nil, err
	}
	return startBrowser(ctx, kind, path, o)
}

// startBrowser starts a browser of a kind.
func startBrowser(ctx context.Context, kind kind, path string, o BrowserOptions) (*Browser, error) {
	display := o.On
	if o.Display != nil {
		display = o.Display.Name()
	}
	if o.Remote && kind.endpoint == "" {
		return nil, fmt.Errorf("start %s: it lacks WebDriver BiDi: %w; use firefox", kind.name, errors.ErrUnsupported)
	}
	s, err := openScreen(display)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", kind.name, err)
	}
	defer s.close()
	if err := s.watchWindows(); err != nil {
		return nil, fmt.Errorf("start %s: %w", kind.name, err)
	}
	b := &Browser{name: kind.name, done: make(chan struct{})}
	if o.Remote || o.Inspect {
		b.endpoint = kind.endpoint
	}
	if o.Untrusted && kind.name == "chromium" {
		kind, err = keptChromium(kind, chromiumPolicies())
		if err == nil && o.Inspect { // it gets no input, so nobody opens its tools
			const tools = "Default/Preferences"
			kind.files[tools], err = merged(kind.files[tools], `{"devtools": {"availability": 1}}`)
		}
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
	policy := ""
	if o.Untrusted {
		policy = untrustedFirefox
	}
	if o.Egress != nil {
		if b.proxy, err = openEgressProxy(o.Egress); err == nil {
			defer func() {
				if b.process == nil { // else it ends with that
					b.proxy.close()
				}
			}()
			kind, policy, err = goes(kind, policy, b.proxy)
		}
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
	if o.Proxy != "" {
		if kind, err = byProxy(kind, o.Proxy); err != nil {
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
	if o.Instead != nil {
		kind = o.Instead.in(kind)
	}
	if o.Authority != nil && kind.name == "firefox" {
		var trust string
		if kind, trust, err = firefoxTrusts(kind, o.Authority); err == nil {
			policy, err = together(policy, trust)
		}
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
	profiles := o.profiles
	if profiles == "" {
		profiles = profileBase()
	}
	if b.profile, err = newProfile(profiles, kind.files); err != nil {
		return nil, fmt.Errorf("start %s: %w", kind.name, err)
	}
	if policy != "" && kind.name == "firefox" {
		if path, err = keptFirefox(path, filepath.Join(b.profile.dir, "program"), policy,
			firefoxPolicies()); err != nil {
			b.profile.remove()
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
	environment := append(b.profile.environment(display), kind.environment...)
	b.version = version(ctx, path, environment)
	left := newLeftovers(sharedMemory)
	cmd := exec.Command(path, kind.arguments(b.profile.dir, s.width, s.height, o)...)
	cmd.Env = environment
	cmd.Dir = b.profile.dir
	if o.Inspect && kind.endpoint == "" {
		if b.pipe, err = newPipe(); err != nil {
			b.profile.remove()
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
		cmd.ExtraFiles = b.pipe.theirs[:] // file 3 and 4, as the browser expects
	}
	clock := timeline.Monotonic()
	b.started.Earliest = clock.Now()
	b.process, err = start(ctx, kind.name, cmd, syscall.SIGKILL, o.Start)
	b.pipe.given()
	if err != nil {
		b.pipe.close()
		b.profile.remove()
		return nil, err
	}
	b.started.Latest = clock.Now()
	go func() {
		defer close(b.done)
		<-b.process.done
		b.proxy.close()
		b.pipe.close()
		b.profile.remove()
		left.remove()
	}()
	if err := b.awaitWindow(ctx, s, o.Timeout); err != nil {
		return nil, err
	}
	return b, nil
}

// awaitWindow waits until the browser fills the screen. If it does not, it is ended.
func (b *Browser) awaitWindow(ctx context.Context, s *screen, timeout time.Duration) error {
	if timeout == 0 {
		timeout = 3 * time.Minute // of a machine that is busy with other things; a browser that ends is not waited for
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call, through the context
		t := time.NewTimer(timeout)
		defer t.Stop()
		select {
		case <-b.process.done:
			cancel(b.process.err)
		case <-t.C:
			cancel(fmt.Errorf("no window fills the display within %v", timeout))
		case <-ctx.Done():
		}
	}()
	err := s.fill(ctx)
	if err == nil {
		return nil
	}
	err = b.process.failed("start "+b.name, err)
	<-b.done
	return err
}

// InstalledVersion returns the version line of an installed browser, or "". The browser writes to a
// folder that is removed.
func InstalledVersion(ctx context.Context, name string) string {
	_, path, err := findBrowser(name)
	if err != nil {
		return ""
	}
	home, err := os.MkdirTemp("", "eideticker-version-*")
	if err != nil {
		return ""
	}
	defer func() { _ = os.RemoveAll(home) }() // of a program that wrote nothing of use
	return version(ctx, path, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home))
}

// version asks the program for its version, or returns "". It is asked in the environment that the
// browser gets: it writes to folders at home even for that.
func version(ctx context.Context, path string, environment []string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line[:min(len(line), 200)]
}

// Name returns "chromium" or "firefox".
func (b *Browser) Name() string { return b.name }

// Process returns the ID of the browser's first process.
func (b *Browser) Process() int { return b.process.cmd.Process.Pid }

// Version returns what the browser says of itself, or "" if it would not.
func (b *Browser) Version() string { return b.version }

// SandboxWarning returns why the browser shows pages without its sandbox, or "".
func (b *Browser) SandboxWarning() string {
	if b.name != "chromium" {
		return ""
	}
	return SandboxWarning()
}

// Started returns when the browser's program was started. Its window appeared some time later.
func (b *Browser) Started() timeline.Interval { return b.started }

// Done is closed when the browser has ended and nothing is left of it.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Err returns nil while the browser runs, and then why it ended: os.ErrClosed after Close, the
// context's cause, or what went wrong.
func (b *Browser) Err() error { return b.process.ended() }

// Close ends the browser and waits until nothing is left of it. It is idempotent.
func (b *Browser) Close() error {
	b.process.close()
	<-b.done
	if _, err := os.Lstat(b.profile.dir); err == nil {
		return fmt.Errorf("profile folder %s cannot be removed", b.profile.dir)
	}
	return nil
}
