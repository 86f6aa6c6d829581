package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// phone is a device's shell that answers as told, and writes down what it was asked.
type phone struct {
	says   map[string]string
	fails  map[string]error
	ran    []string
	before func(command string)
	piped  string
}

// Quote is not that of a real shell, so that it is seen where it was used.
func (p *phone) Quote(text string) string { return "<" + text + ">" }

func (p *phone) Run(ctx context.Context, command string) (string, error) {
	if p.before != nil {
		p.before(command)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p.ran = append(p.ran, command)
	return p.says[command], p.fails[command]
}

func (p *phone) Pipe(ctx context.Context, command string, from io.Reader) (string, error) {
	all, err := io.ReadAll(from)
	if err != nil {
		return "", err
	}
	p.piped += string(all)
	return p.Run(ctx, command)
}

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "android", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// healthy is a phone on which a run may begin.
func healthy(t testing.TB) *phone {
	return &phone{fails: map[string]error{}, says: map[string]string{
		"dumpsys battery": file(t, "battery"), "dumpsys thermalservice": file(t, "thermal"),
		"dumpsys power": file(t, "power"), "dumpsys window policy": file(t, "policy"),
	}}
}

func TestHealth(t *testing.T) {
	replace := func(command, old, new string) func(*phone) {
		return func(p *phone) {
			if !strings.Contains(p.says[command], old) {
				panic(old + " is not in what it says")
			}
			p.says[command] = strings.Replace(p.says[command], old, new, 1)
		}
	}
	silent := func(command string) func(*phone) {
		return func(p *phone) {
			p.says[command], p.fails[command] = "Can't find service", errors.New("ended with 1")
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(*phone)
		say     string // one of the sentences
		refused string
	}{
		{"well", func(*phone) {}, "its battery has 28.7 °C", ""},
		{"charged", func(*phone) {}, "its battery has 83 % left", ""},
		{"awake", func(*phone) {}, "its screen is on", ""},
		{"unlocked", func(*phone) {}, "it is unlocked", ""},
		{"flat", replace("dumpsys battery", "level: 83", "level: 14"), "",
			"its battery has 14 % left, less than 15 %: charge it, or change least-charge in its entry"},
		{"another scale", replace("dumpsys battery", "scale: 100", "scale: 200"), "its battery has 41 % left", ""},
		{"no scale", replace("dumpsys battery", "scale: 100", "scale: 0"), "it does not say how full its battery is",
			""},
		{"hot", replace("dumpsys battery", "temperature: 287", "temperature: 401"), "",
			"its battery has 40.1 °C, more than 40 °C: let it cool, or change hottest in its entry"},
		{"as hot as it may be", replace("dumpsys battery", "temperature: 287", "temperature: 400"),
			"its battery has 40.0 °C", ""},
		{"frozen", replace("dumpsys battery", "temperature: 287", "temperature: -43"), "its battery has -4.3 °C", ""},
		{"impossible", replace("dumpsys battery", "temperature: 287", "temperature: 99999999999"),
			"it does not say how warm its battery is", ""},
		{"throttled", replace("dumpsys thermalservice", "Thermal Status: 0", "Thermal Status: 3"), "",
			"it is throttled because it is hot (severe): let it cool"},
		{"warm", replace("dumpsys thermalservice", "Thermal Status: 0", "Thermal Status: 1"),
			"it is about to be throttled because it is warm (light)", ""},
		{"old", silent("dumpsys thermalservice"), "it is unlocked", ""},
		{"asleep", replace("dumpsys power", "mWakefulness=Awake", "mWakefulness=Asleep"), "",
			"its screen is off (asleep): wake it, and let it stay awake in its developer options"},
		{"dozing", replace("dumpsys power", "mWakefulness=Awake", "mWakefulness=Dozing"), "",
			"its screen is off (dozing): wake it, and let it stay awake in its developer options"},
		{"no screen", silent("dumpsys power"), "it does not say whether its screen is on", ""},
		{"locked", replace("dumpsys window policy", "showing=false", "showing=true"), "",
			"it is locked: unlock it, and set its screen lock to none"},
		{"locked, Android 7", func(p *phone) {
			p.says["dumpsys window policy"] = "    mShowingLockscreen=true mShowingDream=false " +
				"mDreamingLockscreen=true mDreamingSleepToken=null\n"
		}, "", "it is locked: unlock it, and set its screen lock to none"},
		{"unlocked, Android 7", func(p *phone) {
			p.says["dumpsys window policy"] = "    mShowingLockscreen=false mShowingDream=false " +
				"mDreamingLockscreen=false mDreamingSleepToken=null\n"
		}, "it is unlocked", ""},
		{"nothing of locks", silent("dumpsys window policy"), "it does not say whether it is locked", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := healthy(t)
			tc.change(p)
			h, err := NewAndroid(p, blank("phone"), nil).Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			refused := ""
			if err := h.Err(); err != nil {
				refused = err.Error()
			}
			if refused != tc.refused {
				t.Errorf("refused for %q, want %q", refused, tc.refused)
			}
			if tc.say != "" && !slices.Contains(h, Finding{Text: tc.say}) {
				t.Errorf("%+v\nlacks %q", h, tc.say)
			}
		})
	}
}

func TestHealthOfWhatIsGone(t *testing.T) {
	p := healthy(t)
	p.fails["dumpsys power"] = fmt.Errorf("read: %w", input.ErrGone)
	if _, err := NewAndroid(p, blank("phone"), nil).Health(t.Context()); !errors.Is(err, input.ErrGone) {
		t.Errorf("error %v", err)
	}
	refused := errors.New("connection refused")
	if _, err := NewAndroid(&phone{fails: map[string]error{"dumpsys battery": refused}}, blank("phone"), nil).Health(
		t.Context()); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p = healthy(t)
	p.before = func(command string) {
		if command == "dumpsys power" {
			cancel()
		}
	}
	if _, err := NewAndroid(p, blank("phone"), nil).Health(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzHealth: whatever a device says becomes a few short sentences.
func FuzzHealth(f *testing.F) {
	p := healthy(f)
	f.Add(p.says["dumpsys battery"], p.says["dumpsys thermalservice"], p.says["dumpsys power"],
		p.says["dumpsys window policy"])
	f.Add("level: -1\nscale: 0\ntemperature: x", "Thermal Status: 99", "mWakefulness=",
		"KeyguardServiceDelegate showing=maybe")
	f.Fuzz(func(t *testing.T, battery, thermal, power, policy string) {
		p := &phone{says: map[string]string{"dumpsys battery": battery, "dumpsys thermalservice": thermal,
			"dumpsys power": power, "dumpsys window policy": policy}}
		h, err := NewAndroid(p, blank("phone"), nil).Health(t.Context())
		if err != nil || len(h) < 4 || len(h) > 5 {
			t.Fatalf("%d sentences, %v", len(h), err)
		}
		for _, s := range h {
			if len(s.Text) > 150 || !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\n\x1b") {
				t.Errorf("%q", s.Text)
			}
		}
	})
}

// chrome is a healthy phone that has Chrome.
func chrome(t *testing.T) *phone {
	p := healthy(t)
	p.says["pm path com.android.chrome"] = "package:/data/app/~~x==/com.android.chrome-y==/base.apk\n"
	p.says["pm clear com.android.chrome"] = "Success\n"
	return p
}

// TestAndroidInstall: a build replaces an app and its data, unless it is there already.
func TestAndroidInstall(t *testing.T) {
	const app = "org.mozilla.fenix"
	build := filepath.Join(t.TempDir(), "build.apk")
	if err := os.WriteFile(build, []byte("an APK"), 0o600); err != nil {
		t.Fatal(err)
	}
	about := blank("phone")
	about.ADB = "INSTALL1"
	there, dump, install := "pm path "+app, "dumpsys package "+app, "cmd package install -r -d -S 6"
	p := &phone{fails: map[string]error{}, says: map[string]string{there: "package:/data/app/x/base.apk\n",
		install: "Success\n", dump: "    lastUpdateTime=2026-11-30 19:00:00\n    versionName=148\n"}}
	step := func(what, want string, ran ...string) {
		t.Helper()
		p.ran, p.piped = nil, ""
		err := NewAndroid(p, about, nil).Install(t.Context(), app, build)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if !slices.Equal(p.ran, ran) || slices.Contains(ran, install) != (p.piped == "an APK") {
			t.Errorf("%s: ran %q with %q", what, p.ran, p.piped)
		}
	}
	now := 0
	p.before = func(command string) {
		switch {
		case strings.HasPrefix(command, "pm uninstall"):
			p.says[dump] = "    lastUpdateTime=2009-01-01 00:00:00\n" // of the system's version
		case command == install && strings.HasPrefix(p.says[install], "Success") && p.piped != "":
			now++
			p.says[dump] = fmt.Sprintf("    lastUpdateTime=2026-11-30 19:00:%02d\n", now)
		}
	}
	step("the first time", "", there, "pm uninstall "+app, dump, install, dump)
	step("again", "", dump)
	p.says[dump] = "    lastUpdateTime=2026-11-30 20:00:00\n"
	step("somebody updated it", "", dump, there, "pm uninstall "+app, dump, install, dump)
	p.before = nil
	p.says[dump] = "    lastUpdateTime=2026-11-30 21:00:00\n" // and stays
	step("another package beside one of the system", "it is of another package", dump, there, "pm uninstall "+app, dump,
		install, dump)
	build = filepath.Join(t.TempDir(), "other.apk")
	if err := os.WriteFile(build, []byte("an APK"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.says[there] = ""
	p.says[install], p.fails[install] = "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n", errors.New("exit code 1")
	step("no space", "install org.mozilla.fenix: exit code 1: Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]", there,
		install)
	p.says[install], p.fails[install] = "Failure [INSTALL_FAILED_NO_MATCHING_ABIS]", nil
	step("refused", "the device refuses the APK: Failure [INSTALL_FAILED_NO", there, install)
	p.says[install], p.says[dump] = "Success", "Unable to find package\n"
	step("another package", "it is of another package", there, install, dump)
}

func TestRunsBuilds(t *testing.T) {
	screen, phone := blank("screen"), blank("phone")
	screen.Source, phone.ADB = Virtual, "A1"
	fresh := phone
	fresh.Profile = profileFresh
	for _, tc := range []struct {
		d       Description
		android bool
		want    string
	}{
		{screen, false, ""}, {screen, true, "is not an Android device"}, {phone, false, "is not a virtual display"},
		{phone, true, "set profile: fresh"}, {fresh, true, ""},
	} {
		if err := tc.d.RunsBuilds(tc.android); (err == nil) != (tc.want == "") ||
			err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, Android %t: %v", tc.d.Name, tc.android, err)
		}
	}
}

const viewIt = "am start -a android.intent.action.VIEW -d <http://10.0.0.1:8080/a?b='c'&d> -p com.android.chrome"

func TestAndroidStart(t *testing.T) {
	const address = "http://10.0.0.1:8080/a?b='c'&d"
	kept, fresh := blank("phone"), blank("phone")
	fresh.Profile = profileFresh
	for _, tc := range []struct {
		name   string
		about  Description
		change func(*phone)
		ran    []string
		want   string
	}{
		{"kept", kept, func(*phone) {}, []string{"pm path com.android.chrome", "am force-stop com.android.chrome",
			viewIt}, ""},
		{"fresh", fresh, func(*phone) {}, []string{"pm path com.android.chrome", "am force-stop com.android.chrome",
			"pm clear com.android.chrome", viewIt}, ""},
		{"not there", kept, func(p *phone) { p.says["pm path com.android.chrome"] = "" },
			[]string{"pm path com.android.chrome"}, "start chrome: device phone has no com.android.chrome"},
		{"not cleared", fresh, func(p *phone) { p.says["pm clear com.android.chrome"] = "Failed\n" },
			[]string{"pm path com.android.chrome", "am force-stop com.android.chrome", "pm clear com.android.chrome"},
			`clear the data of com.android.chrome: unexpected answer "Failed"`},
		{"not started", kept, func(p *phone) {
			p.says[viewIt] = "Starting: Intent { act=android.intent.action.VIEW dat=http://10.0.0.1:8080/... " +
				"pkg=com.android.chrome }\nError: Activity not started, unable to resolve Intent\n"
		}, []string{"pm path com.android.chrome", "am force-stop com.android.chrome", viewIt},
			"show in chrome: http://10.0.0.1:8080/a?b='c'&d: Activity not started, unable to resolve Intent"},
		{"only brought to the front", kept, func(p *phone) {
			p.says[viewIt] = "Starting: Intent { }\nWarning: Activity not started, intent has been delivered to " +
				"currently running top-most instance.\n"
		}, []string{"pm path com.android.chrome", "am force-stop com.android.chrome", viewIt}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := chrome(t)
			tc.change(p)
			at, err := NewAndroid(p, tc.about, nil).Start(t.Context(), "chrome", address)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want || !slices.Equal(p.ran, tc.ran) {
				t.Errorf("error %q, want %q; ran %q", got, tc.want, p.ran)
			}
			if err == nil && (at.Earliest == 0 || at.Latest < at.Earliest) {
				t.Errorf("told at %v", at)
			}
		})
	}
	p := chrome(t)
	for _, bad := range []string{"intent:#Intent;end", "javascript:alert(1)", "http://%zz"} {
		if _, err := NewAndroid(p, kept, nil).View(t.Context(), "chrome", bad); err == nil {
			t.Errorf("%q is shown", bad)
		}
	}
	if _, err := NewAndroid(p, kept, nil).Start(t.Context(), "chrme", address); err == nil ||
		!strings.Contains(err.Error(), "did you mean chrome?") {
		t.Errorf("error %v", err)
	}
	if len(p.ran) != 0 {
		t.Errorf("ran %q", p.ran)
	}
}

func TestAndroidSaysWhatItIs(t *testing.T) {
	p := chrome(t)
	p.says["dumpsys package com.android.chrome"] = "Packages:\n  Package [com.android.chrome] (a1b2c3):\n" +
		"    versionCode=636700033 minSdk=26 targetSdk=35\n    versionName=126.0.6478.122\n"
	p.says["getprop ro.product.manufacturer"] = "Google\n"
	p.says["getprop ro.product.model"] = "Pixel 7\n"
	p.says["getprop ro.build.version.release"] = "14\n"
	a := NewAndroid(p, blank("phone"), nil)
	if v := a.Version(t.Context(), "chrome"); v != "126.0.6478.122" {
		t.Errorf("version %q", v)
	}
	if m := a.Model(t.Context()); m != "Google Pixel 7, Android 14" {
		t.Errorf("model %q", m)
	}
	if v := a.Version(t.Context(), "org.mozilla.fenix"); v != "" {
		t.Errorf("version %q", v)
	}
}

// keyboard records its actions and their due times.
type keyboard struct {
	did   []string
	fails int // the action that does; 0: none
}

func (k *keyboard) Do(_ context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if err := input.Check(actions); err != nil {
		return timeline.Interval{}, err
	}
	if len(k.did)+1 == k.fails {
		return timeline.Interval{}, input.ErrGone
	}
	k.did = append(k.did, fmt.Sprint(actions))
	return timeline.Interval{Earliest: at, Latest: at.Add(1)}, nil
}
func (k *keyboard) Release(context.Context) error { k.did = append(k.did, "release"); return nil }
func (k *keyboard) Info() input.Info              { return input.Info{} }
func (k *keyboard) Close() error                  { return nil }

func TestTyped(t *testing.T) {
	rest := []string{`[text "example.org/a "]`, "[key down Enter]", "[key up Enter]"}
	for _, tc := range []struct {
		name  string
		typed Typed
		want  []string
	}{
		{"keys", Typed{Bar: blank("x").AddressBar},
			[]string{"[key down ControlLeft key down l]", "[key up l key up ControlLeft]"}},
		{"mouse", Typed{Bar: AddressBar{X: 540, Y: 160}},
			[]string{"[move to 540,160 button down left]", "[button up left]"}},
		{"finger", Typed{Bar: AddressBar{X: 540, Y: 160}, Touch: true},
			[]string{"[finger 0 down at 540,160]", "[finger 0 up]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := &keyboard{}
			tc.typed.Input = k
			began := timeline.Monotonic().Now()
			at, err := tc.typed.Go(t.Context(), "example.org/a")
			if want := append(tc.want, rest...); err != nil || !slices.Equal(k.did, want) {
				t.Errorf("%q, %v\nwant %q", k.did, err, want)
			}
			if after := at.Earliest.Sub(began); after < barHeld+barOpens {
				t.Errorf("Enter was due after %v", after)
			}
		})
	}
	k := &keyboard{fails: 4}
	if _, err := (Typed{Input: k, Bar: blank("x").AddressBar}).Go(t.Context(), "a"); !errors.Is(err, input.ErrGone) ||
		k.did[len(k.did)-1] != "release" {
		t.Errorf("error %v after %q", err, k.did)
	}
	for _, bad := range []string{"", "a\nb", strings.Repeat("a", 9000)} {
		if _, err := (Typed{Input: k}).Go(t.Context(), bad); err == nil {
			t.Errorf("%.10q is typed", bad)
		}
	}
}
