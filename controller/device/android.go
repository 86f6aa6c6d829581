package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// Shell is the shell of an Android device.
type Shell interface {
	// Run runs a command and returns what it says. It is an error if the command ends with another
	// code than 0; what it said is returned then too.
	Run(ctx context.Context, command string) (string, error)
	// Pipe runs a command that reads bytes and then ends. It returns as Run does.
	Pipe(ctx context.Context, command string, from io.Reader) (string, error)
	// Quote makes one word of a command of a text.
	Quote(text string) string
}

// Android starts and ends browsers of an Android device, and asks for its health.
type Android struct {
	shell Shell
	about Description
	clock timeline.Clock
}

// NewAndroid returns the device behind a shell. A nil clock is the rig's.
func NewAndroid(shell Shell, d Description, clock timeline.Clock) *Android {
	if clock == nil {
		clock = timeline.Monotonic()
	}
	return &Android{shell, d, clock}
}

// packages are those of browsers that people call by other names.
var packages = map[string]string{
	"brave": "com.brave.browser", "chrome": "com.android.chrome", "chrome-beta": "com.chrome.beta",
	"chrome-canary": "com.chrome.canary", "chrome-dev": "com.chrome.dev",
	"chromium": "org.chromium.chrome", "edge": "com.microsoft.emmx", "firefox": "org.mozilla.firefox",
	"firefox-beta":    "org.mozilla.firefox_beta",
	"firefox-nightly": "org.mozilla.fenix", "opera": "com.opera.browser", "samsung": "com.sec.android.app.sbrowser",
	"vivaldi": "com.vivaldi.browser",
}

// IsPackage reports whether a text is the name of an Android package.
func IsPackage(name string) bool { return packageName.MatchString(name) }

var packageName = pattern.New(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$`)

// androidPackage returns the Android package of a browser: of a name such as chrome, or the package
// itself.
func androidPackage(browser string) (string, error) {
	if p, ok := packages[browser]; ok {
		return p, nil
	}
	if len(browser) < 200 && IsPackage(browser) {
		return browser, nil
	}
	var names []string
	for name := range packages {
		names = append(names, name)
	}
	return "", fmt.Errorf("%q is not a browser of Android's that is known here, and no package%s", strict.Clip(browser),
		wording.Meant(browser, names))
}

// installed are the APKs that this program has installed, by serial number and package.
var installed struct {
	sync.Mutex
	all map[string]apk
}

// apk is an installed APK.
type apk struct {
	file    string
	updated string // when, as the device says
}

// installTime limits an installation, which compiles the app on the device.
const installTime = 10 * time.Minute

// ErrAPK is the error of an APK that the device refuses.
var ErrAPK = errors.New("the device refuses the APK")

// Install replaces an app and its data by an APK, unless this program installed that file last. An
// app of another signer or a newer one cannot be updated, so the app is removed first. Source of
// the command: PackageManagerShellCommand.java of Android's frameworks/base.
func (a *Android) Install(ctx context.Context, app, file string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("not installed within %v", installTime))
	defer cancel()
	serial, _ := a.about.Android()
	installed.Lock()
	was := installed.all[serial+" "+app]
	installed.Unlock()
	if was.file == file && was.updated != "" && was.updated == a.updated(ctx, app) {
		return nil
	}
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	st, err := from.Stat()
	if err != nil {
		return err
	}
	before := ""
	if said, err := a.shell.Run(ctx, "pm path "+app); err == nil && strings.HasPrefix(said, "package:") {
		_, _ = a.shell.Run(ctx, "pm uninstall "+app)
		before = a.updated(ctx, app) // an app of the system keeps its first version
	}
	said, err := a.shell.Pipe(ctx, fmt.Sprintf("cmd package install -r -d -S %d", st.Size()), from)
	said = strings.TrimSpace(said)
	switch {
	case strings.Contains(said, "[INSTALL_") && !strings.Contains(said, "STORAGE"):
		err = fmt.Errorf("%w: %s", ErrAPK, strict.Clip(said))
	case err == nil && !strings.HasPrefix(said, "Success"):
		err = fmt.Errorf("unexpected answer %q", strict.Clip(said))
	case err != nil && said != "":
		err = fmt.Errorf("%w: %s", err, strict.Clip(said))
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", app, err)
	}
	updated := a.updated(ctx, app)
	if updated == before {
		return fmt.Errorf("install %s: %w: it is of another package", app, ErrAPK)
	}
	installed.Lock()
	defer installed.Unlock()
	if installed.all == nil {
		installed.all = map[string]apk{}
	}
	installed.all[serial+" "+app] = apk{file, updated}
	return nil
}

var updateLine = pattern.New(`(?m)^\s*lastUpdateTime=([0-9: -]{1,40})\s*$`)

// updated returns when an app was installed or updated; "": it is not there.
func (a *Android) updated(ctx context.Context, app string) string {
	said, err := a.shell.Run(ctx, "dumpsys package "+app)
	if m := updateLine.FindStringSubmatch(said); err == nil && m != nil {
		return m[1]
	}
	return ""
}

// Start ends a browser and starts it at an address by an intent. It clears its data if the device's
// entry allows it. It returns when the command was sent.
func (a *Android) Start(ctx context.Context, browser, address string) (timeline.Interval, error) {
	p, err := androidPackage(browser)
	if err != nil {
		return timeline.Interval{}, err
	}
	if err := checkURL(address); err != nil {
		return timeline.Interval{}, err
	}
	if said, err := a.shell.Run(ctx, "pm path "+p); err != nil || !strings.HasPrefix(said, "package:") {
		if ctx.Err() != nil {
			return timeline.Interval{}, context.Cause(ctx)
		}
		return timeline.Interval{}, errors.Join(fmt.Errorf("start %s: device %s has no %s", browser, a.about.Name, p),
			err)
	}
	if err := a.Stop(ctx, browser); err != nil {
		return timeline.Interval{}, err
	}
	if a.about.Profile == profileFresh {
		said, err := a.shell.Run(ctx, "pm clear "+p)
		if err == nil && strings.TrimSpace(said) != "Success" {
			err = fmt.Errorf("unexpected answer %q", strict.Clip(strings.TrimSpace(said)))
		}
		if err != nil {
			return timeline.Interval{}, fmt.Errorf("clear the data of %s: %w", p, err)
		}
	}
	return a.View(ctx, browser, address)
}

// View has a browser go to an address by an intent, as a link in another app does: the platform's
// own way.
func (a *Android) View(ctx context.Context, browser, address string) (timeline.Interval, error) {
	p, err := androidPackage(browser)
	if err != nil {
		return timeline.Interval{}, err
	}
	if !strings.Contains(address, ":") { // as people type it
		address = "http://" + address
	}
	if err := checkURL(address); err != nil {
		return timeline.Interval{}, err
	}
	told := timeline.Interval{Earliest: a.clock.Now()}
	said, err := a.shell.Run(ctx, "am start -a android.intent.action.VIEW -d "+a.shell.Quote(address)+" -p "+p)
	told.Latest = a.clock.Now()
	if err == nil {
		err = startError(said)
	}
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("show in %s: %s: %w", browser, strict.Clip(address), err)
	}
	return told, nil
}

// startError finds why an activity was not started: the command often ends well all the same.
func startError(said string) error {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if why, found := strings.CutPrefix(line, "Error: "); found {
			return errors.New(strict.Clip(why))
		}
		if strings.HasPrefix(line, "Error type ") || strings.HasPrefix(line, "java.lang.") {
			return errors.New(strict.Clip(line))
		}
	}
	return nil
}

// Stop ends a browser and all its processes; one that does not run needs none.
func (a *Android) Stop(ctx context.Context, browser string) error {
	p, err := androidPackage(browser)
	if err != nil {
		return err
	}
	if _, err := a.shell.Run(ctx, "am force-stop "+p); err != nil {
		return fmt.Errorf("end %s: %w", browser, err)
	}
	return nil
}

var versionLine = pattern.New(`(?m)^\s*versionName=([0-9A-Za-z._+-]{1,60})\s*$`)

// Version returns the version of a browser, or "" where the device does not say.
func (a *Android) Version(ctx context.Context, browser string) string {
	p, err := androidPackage(browser)
	if err != nil {
		return ""
	}
	said, err := a.shell.Run(ctx, "dumpsys package "+p)
	if m := versionLine.FindStringSubmatch(said); err == nil && m != nil {
		return m[1]
	}
	return ""
}

// Model returns what device it is, and which Android it runs: "Google Pixel 7, Android 14"; ""
// where it does not say.
func (a *Android) Model(ctx context.Context) string {
	var words []string
	for _, property := range []string{"ro.product.manufacturer", "ro.product.model", "ro.build.version.release"} {
		said, err := a.shell.Run(ctx, "getprop "+property)
		if err != nil {
			return ""
		}
		words = append(words, strict.Clip(strings.TrimSpace(said)))
	}
	if words[1] == "" {
		return ""
	}
	return strings.TrimSpace(words[0]+" "+words[1]) + ", Android " + words[2]
}
