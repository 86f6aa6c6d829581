package device

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/pattern"
)

// Health checks whether a run on an Android device would give valid results. It checks charge,
// temperature and throttling, and screen and lock screen. A value that the device does not report
// is noted, and does not prevent a run. A device that does not answer is an error.
func (a *Android) Health(ctx context.Context) (Health, error) {
	var h Health
	for _, q := range []struct {
		command string
		judge   func(*Health, string, Description)
	}{
		{"dumpsys battery", judgeBattery}, {"dumpsys thermalservice", judgeThermal}, {"dumpsys power", judgeScreen},
		{"dumpsys window policy", judgeLock},
	} {
		said, err := a.shell.Run(ctx, q.command)
		if err != nil {
			if ctx.Err() != nil {
				return h, context.Cause(ctx)
			}
			// a command that only fails is one that the device does not have
			if errors.Is(err, input.ErrGone) || len(h) == 0 && said == "" {
				return h, err
			}
		}
		q.judge(&h, said, a.about)
	}
	return h, nil
}

// wholeNumber returns the number after a name in a line of its own, as in dumpsys output.
func wholeNumber(said, name string) (n int, ok bool) {
	for line := range strings.Lines(said) {
		if v, found := strings.CutPrefix(strings.TrimSpace(line), name+": "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
			return int(n), err == nil
		}
	}
	return 0, false
}

// judgeBattery reads "dumpsys battery": a level of a scale, and tenths of degrees.
func judgeBattery(h *Health, said string, d Description) {
	level, ok := wholeNumber(said, "level")
	scale, scaled := wholeNumber(said, "scale")
	if !scaled {
		scale = 100
	}
	if ok && scale > 0 && level >= 0 && level <= scale {
		if percent := level * 100 / scale; percent < d.MinCharge {
			h.refuse("its battery has %d %% left, less than %d %%: charge it, or change least-charge in its entry",
				percent, d.MinCharge)
		} else {
			h.say("its battery has %d %% left", percent)
		}
	} else {
		h.say("it does not say how full its battery is")
	}
	tenths, ok := wholeNumber(said, "temperature")
	switch {
	case !ok || tenths < -500 || tenths > 1500: // no battery lives there
		h.say("it does not say how warm its battery is")
	case tenths > d.Hottest*10:
		h.refuse("its battery has %.1f °C, more than %d °C: let it cool, or change hottest in its entry",
			float64(tenths)/10, d.Hottest)
	default:
		h.say("its battery has %.1f °C", float64(tenths)/10)
	}
}

// Levels of throttling, of android.os.Temperature and PowerManager.
var thermalLevels = []string{"none", "light", "moderate", "severe", "critical", "emergency", "shutdown"}

// throttled is the level from which on throttling affects results.
const throttled = 2

// judgeThermal reads "dumpsys thermalservice", of Android 10 and later; before, nothing is said,
// and nothing is missed.
func judgeThermal(h *Health, said string, _ Description) {
	level, ok := wholeNumber(said, "Thermal Status")
	switch {
	case !ok || level < 0 || level >= len(thermalLevels):
	case level >= throttled:
		h.refuse("it is throttled because it is hot (%s): let it cool", thermalLevels[level])
	case level > 0:
		h.say("it is about to be throttled because it is warm (%s)", thermalLevels[level])
	}
}

var wakefulness = pattern.New(`(?m)^\s*mWakefulness=([A-Za-z]{1,20})\s*$`)

// judgeScreen reads "dumpsys power".
func judgeScreen(h *Health, said string, _ Description) {
	m := wakefulness.FindStringSubmatch(said)
	switch {
	case m == nil:
		h.say("it does not say whether its screen is on")
	case m[1] == "Awake":
		h.say("its screen is on")
	default:
		h.refuse("its screen is off (%s): wake it, and let it stay awake in its developer options",
			strings.ToLower(m[1]))
	}
}

var (
	keyguardShows = pattern.New(`(?m)^\s*showing=(true|false)\s*$`)
	lockScreen    = pattern.New(`\bmShowingLockscreen=(true|false)\b`)
)

// judgeLock reads "dumpsys window policy": the part of the keyguard's delegate, or what stood there
// before Android 8.
func judgeLock(h *Health, said string, _ Description) {
	var m []string
	if _, guard, found := strings.Cut(said, "KeyguardServiceDelegate"); found {
		m = keyguardShows.FindStringSubmatch(guard)
	}
	if m == nil {
		m = lockScreen.FindStringSubmatch(said)
	}
	switch {
	case m == nil:
		h.say("it does not say whether it is locked")
	case m[1] == "true":
		h.refuse("it is locked: unlock it, and set its screen lock to none")
	default:
		h.say("it is unlocked")
	}
}
