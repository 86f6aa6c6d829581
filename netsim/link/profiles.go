package link

import (
	"slices"
	"time"
)

// Profile is conditions that have a name.
type Profile struct {
	Name       string
	About      string
	Conditions Conditions
	Source     string // of the figures
}

const (
	fromWebPageTest = "WebPageTest, connectivity.ini"
	fromApple       = "Apple, Network Link Conditioner"
	fromOrbit       = "rates of geostationary providers; four times 35,786 km at the speed of light"
)

// Profiles returns all that have a name, the fastest first.
func Profiles() []Profile { return slices.Clone(profiles) }

// ProfileNamed finds one.
func ProfileNamed(name string) (Profile, bool) {
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return profiles[i], true
}

var profiles = []Profile{
	{"none", "no link at all: as fast as this machine", Conditions{}, ""},
	{"wifi", "a good wireless network at home", even(40*Mbit, 33*Mbit, 2*time.Millisecond), fromApple},
	{"fibre", "fibre to the home", even(20*Mbit, 5*Mbit, 4*time.Millisecond), fromWebPageTest + " (FIOS)"},
	{"lte", "a good mobile network", even(12*Mbit, 12*Mbit, 70*time.Millisecond), fromWebPageTest},
	{"4g", "a mobile network", even(9*Mbit, 9*Mbit, 170*time.Millisecond), fromWebPageTest},
	{"cable", "a television cable", even(5*Mbit, 1*Mbit, 28*time.Millisecond), fromWebPageTest},
	{"satellite", "a geostationary satellite", even(25*Mbit, 3*Mbit, 600*time.Millisecond), fromOrbit},
	{"dsl", "a slow telephone line", even(1500*Kbit, 384*Kbit, 50*time.Millisecond), fromWebPageTest},
	{"3g-fast", "an older mobile network on a good day", even(1600*Kbit, 768*Kbit, 150*time.Millisecond),
		fromWebPageTest},
	{"3g", "an older mobile network", even(1600*Kbit, 768*Kbit, 300*time.Millisecond), fromWebPageTest},
	{"3g-slow", "an older mobile network far from its mast", even(400*Kbit, 400*Kbit, 400*time.Millisecond),
		fromWebPageTest},
	{"2g", "a mobile network of the nineties", even(280*Kbit, 256*Kbit, 800*time.Millisecond), fromWebPageTest},
	{"dial", "a dial-up modem", even(49*Kbit, 30*Kbit, 120*time.Millisecond), fromWebPageTest},
}

// even is a link whose round trip takes as long there as back.
func even(down, up Rate, rtt time.Duration) Conditions {
	c := Conditions{Down: Direction{Rate: down}, Up: Direction{Rate: up}}
	c.SetRTT(rtt)
	return c
}
