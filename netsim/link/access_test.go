package link

import (
	"strings"
	"testing"
)

func TestAccessPoints(t *testing.T) {
	for _, tc := range []struct {
		a    AccessPoint
		want string // "": it can be
	}{
		{AccessPoint{SSID: "rig", Passphrase: "correct horse"}, ""},
		{AccessPoint{SSID: "rig\"; rm", Passphrase: "correct horse", Channel: 36, Country: "DE"}, ""},
		{AccessPoint{Passphrase: "correct horse"}, "not a name of a wireless network"},
		{AccessPoint{SSID: "a\nb", Passphrase: "correct horse"}, "not a name of a wireless network"},
		{AccessPoint{SSID: strings.Repeat("x", 33), Passphrase: "correct horse"}, "not a name of a wireless network"},
		{AccessPoint{SSID: "rig", Passphrase: "short"}, "8 to 63 letters"},
		{AccessPoint{SSID: "rig", Passphrase: "correct\nhorse"}, "8 to 63 letters"},
		{AccessPoint{SSID: "rig", Passphrase: "correct horse", Channel: 14}, "channel 14"},
		{AccessPoint{SSID: "rig", Passphrase: "correct horse", Country: "de"}, "invalid country"},
	} {
		err := tc.a.Check()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.a, err, tc.want)
		}
		if err != nil && tc.a.Passphrase != "" && strings.Contains(err.Error(), tc.a.Passphrase) {
			t.Errorf("the passphrase is shown: %v", err)
		}
	}
}

// FuzzAccessPoint: whatever a network is called, its configuration has the lines that it should
// have, and no others.
func FuzzAccessPoint(f *testing.F) {
	f.Add("rig", "correct horse", "DE", 11)
	f.Add("rig\nwpa=0", "correct horse", "DE", 40)
	f.Add("rig", "correct horse\nwpa=0", "", 0)
	lines := strings.Count((&AccessPoint{SSID: "a", Passphrase: "12345678", Country: "DE"}).configuration("wlan0"),
		"\n")
	f.Fuzz(func(t *testing.T, ssid, passphrase, country string, channel int) {
		a := AccessPoint{SSID: ssid, Passphrase: passphrase, Country: country, Channel: channel}
		if a.Check() != nil {
			return
		}
		want := lines
		if country == "" {
			want -= 2
		}
		if got := strings.Count(a.configuration("wlan0"), "\n"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, a.configuration("wlan0"))
		}
	})
}
