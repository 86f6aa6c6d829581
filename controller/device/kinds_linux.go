package device

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// What both keep of asking the user and the network.
var (
	//go:embed firefox.js
	firefoxPreferences string
	//go:embed chromium.json
	chromiumPreferences string
)

// kind is a browser that we know how to start.
type kind struct {
	name        string
	pkg         string            // of Debian
	programs    []string          // in order of preference
	prefix      string            // of the file names of its builds
	files       map[string]string // of the profile, by their paths in it
	environment []string
	endpoint    string // of them, the one in which it says where it listens for WebDriver BiDi; "": it cannot
	arguments   func(profile string, width, height int, o BrowserOptions) []string
}

func kinds() []kind {
	return []kind{
		{name: "chromium", prefix: "chrom", pkg: "chromium",
			programs:  []string{"chromium", "chromium-browser", "google-chrome"},
			arguments: chromiumArguments,
			files:     map[string]string{"Default/Preferences": chromiumPreferences}},
		{name: "firefox", prefix: "firefox", pkg: "firefox-esr", programs: []string{"firefox-esr", "firefox"},
			arguments:   firefoxArguments,
			files:       map[string]string{"user.js": firefoxPreferences},
			environment: []string{"MOZ_REMOTE_SETTINGS_DEVTOOLS=1"},
			endpoint:    "WebDriverBiDiServer.json"},
	}
}

// findBrowser returns a browser by name, or the first that is installed.
func findBrowser(name string) (kind, string, error) {
	var first error
	for _, k := range kinds() {
		if name != "" && name != k.name {
			continue
		}
		path, err := find(k.pkg, k.programs...)
		if err == nil {
			return k, path, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("no browser %q: use chromium or firefox", name)
	}
	return kind{}, "", first
}

// KindOf returns "chromium" or "firefox" for the file of a browser, by its name.
func KindOf(program string) (string, error) {
	k, _, err := openProgram(program)
	return k.name, err
}

// openProgram returns the kind and the absolute path of a browser's file.
func openProgram(program string) (kind, string, error) {
	path, err := filepath.Abs(program)
	if err == nil {
		path, err = exec.LookPath(path)
	}
	if err != nil {
		return kind{}, "", fmt.Errorf("browser %s: %w", program, err)
	}
	name := filepath.Base(path)
	for _, k := range kinds() {
		if strings.HasPrefix(name, k.prefix) || slices.Contains(k.programs, name) {
			return k, path, nil
		}
	}
	return kind{}, "", fmt.Errorf("browser %s: unknown kind; its file name must begin with chrom or firefox", program)
}

// chromiumArguments starts Chromium without anything that draws on its own, asks the network, or
// asks the user. One CSS pixel is one pixel of the display.
func chromiumArguments(profile string, width, height int, o BrowserOptions) []string {
	args := []string{
		"--user-data-dir=" + profile,
		"--window-position=0,0", fmt.Sprintf("--window-size=%d,%d", width, height),
		"--force-device-scale-factor=1", "--force-color-profile=srgb", "--hide-scrollbars",
		"--enable-unsafe-swiftshader", "--no-first-run", "--no-default-browser-check", "--noerrdialogs",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
		"--disable-extensions", "--disable-infobars", "--disable-session-crashed-bubble", "--disable-breakpad",
		"--disable-crash-reporter", "--disable-client-side-phishing-detection", "--disable-domain-reliability",
		"--disable-component-extensions-with-background-pages",
		"--disable-features=Translate,MediaRouter,OptimizationHints,NetworkTimeServiceQuerying," +
			"AimServerEligibilityEnabled,AimServerRequestOnStartupEnabled,AimServerRequestOnIdentityChangeEnabled",
		"--gcm-checkin-url=" + nowhere, "--gcm-registration-url=" + nowhere, "--gcm-mcs-endpoint=" + nowhere,
		"--gaia-url=" + nowhere,
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--password-store=basic", "--use-mock-keychain", "--no-pings", "--test-type",
	}
	if o.Authority != nil {
		args = append(args, chromiumTrusts(o.Authority)...)
	}
	if o.Authority == nil || !o.Authority.HTTP3 {
		args = append(args, "--disable-quic")
	}
	if o.Display != nil {
		// a virtual display has no GPU, and searching for one takes time; on others, GPU drawing is
		// measured
		args = append(args, "--disable-gpu")
	}
	if o.Inspect {
		args = append(args, "--remote-debugging-pipe")
	}
	if !o.Bars {
		args = append(args, "--kiosk")
	}
	if !canSandbox() {
		args = append(args, "--no-sandbox")
	}
	if smallSharedMemory() {
		args = append(args, "--disable-dev-shm-usage")
	}
	return append(args, o.URL)
}

// nowhere is where nobody answers: the port that throws away, on this machine.
const nowhere = "http://127.0.0.1:9/"

// canSandbox reports whether Chromium's sandbox can work: not as root, and only with user
// namespaces or its setuid helper.
func canSandbox() bool {
	if os.Geteuid() == 0 {
		return false
	}
	if st, err := os.Stat("/usr/lib/chromium/chrome-sandbox"); err == nil && st.Mode()&os.ModeSetuid != 0 {
		return true
	}
	// The settings that forbid user namespaces differ between systems; trying one tells.
	path, err := exec.LookPath("true")
	if err != nil {
		return false
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run() == nil
}

// SandboxWarning returns why Chromium shows pages without its sandbox on this machine, or "".
func SandboxWarning() string {
	switch {
	case canSandbox():
		return ""
	case os.Geteuid() == 0:
		return "as root, Chromium runs pages without its sandbox; use another user"
	}
	return "Chromium runs pages without its sandbox, since users have no namespaces on this machine"
}

// smallSharedMemory reports whether /dev/shm is missing or too small for Chromium's pictures, as in
// many containers.
func smallSharedMemory() bool {
	var st syscall.Statfs_t
	return syscall.Statfs("/dev/shm", &st) != nil || uint64(st.Blocks)*uint64(st.Bsize) < 256<<20
}

func firefoxArguments(profile string, width, height int, o BrowserOptions) []string {
	args := []string{"--profile", profile, "--no-remote", "--new-instance", "--width", fmt.Sprint(width), "--height",
		fmt.Sprint(height)}
	if !o.Bars {
		args = append(args, "--kiosk")
	}
	if o.Remote || o.Inspect {
		args = append(args, "--remote-debugging-port", "0")
	}
	return append(args, o.URL)
}
