package device

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// kind is a browser that we know how to start.
type kind struct {
	name        string
	pkg         string   // of Debian
	programs    []string // in order of preference
	preferences string   // user.js of the profile, or ""
	arguments   func(profile string, width, height int, url string) []string
}

func kinds() []kind {
	return []kind{
		{name: "chromium", pkg: "chromium", programs: []string{"chromium", "chromium-browser", "google-chrome"}, arguments: chromiumArguments},
		{name: "firefox", pkg: "firefox-esr", programs: []string{"firefox-esr", "firefox"}, preferences: firefoxPreferences, arguments: firefoxArguments},
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

// chromiumArguments starts Chromium without anything that draws on its own, asks the network, or
// asks the user. One CSS pixel is one pixel of the display.
func chromiumArguments(profile string, width, height int, url string) []string {
	args := []string{
		"--user-data-dir=" + profile,
		"--kiosk", "--window-position=0,0", fmt.Sprintf("--window-size=%d,%d", width, height),
		"--force-device-scale-factor=1", "--force-color-profile=srgb", "--hide-scrollbars",
		"--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--no-default-browser-check", "--noerrdialogs",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
		"--disable-extensions", "--disable-infobars", "--disable-session-crashed-bubble", "--disable-breakpad",
		"--disable-crash-reporter", "--disable-features=Translate,MediaRouter,OptimizationHints",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--password-store=basic", "--use-mock-keychain", "--no-pings", "--test-type",
	}
	if !canSandbox() {
		args = append(args, "--no-sandbox")
	}
	if smallSharedMemory() {
		args = append(args, "--disable-dev-shm-usage")
	}
	return append(args, url)
}

// canSandbox reports whether Chromium's sandbox can work: not as root, and only with user namespaces
// or its setuid helper.
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

// smallSharedMemory reports whether /dev/shm is missing or too small for Chromium's pictures, as in many containers.
func smallSharedMemory() bool {
	var st syscall.Statfs_t
	return syscall.Statfs("/dev/shm", &st) != nil || uint64(st.Blocks)*uint64(st.Bsize) < 256<<20
}

func firefoxArguments(profile string, width, height int, url string) []string {
	return []string{
		"--profile", profile, "--no-remote", "--new-instance", "--kiosk",
		"--width", fmt.Sprint(width), "--height", fmt.Sprint(height), url,
	}
}

// firefoxPreferences keep Firefox from asking the user or the network, and from scaling.
const firefoxPreferences = `user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.translations.enable", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("datareporting.policy.dataSubmissionPolicyBypassNotification", true);
user_pref("app.update.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("layout.css.devPixelsPerPx", "1.0");
user_pref("full-screen-api.warning.timeout", 0);
`
