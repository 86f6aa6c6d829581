package link

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// AccessPoint is a wireless network that a device finds at an interface: WPA2 with one passphrase
// for all.
type AccessPoint struct {
	SSID       string // its name, 1 to 32 bytes of UTF-8
	Passphrase string // 8 to 63 letters of ASCII
	Country    string // whose rules for radio apply, such as DE; "": the driver's own, which allow the least
	Channel    int    // 1 to 13 at 2.4 GHz, 36 to 165 at 5 GHz; 0: 6
}

const (
	defaultChannel = 6
	maxSSID        = 32
)

// channel is the one that is used.
func (a *AccessPoint) channel() int {
	if a.Channel == 0 {
		return defaultChannel
	}
	return a.Channel
}

func (a *AccessPoint) narrow() bool { return a.channel() <= 13 }

// Check says what cannot be. Errors do not show the passphrase.
func (a *AccessPoint) Check() error {
	switch c := a.channel(); {
	case a.SSID == "" || len(a.SSID) > maxSSID || !utf8.ValidString(a.SSID) || strings.ContainsAny(a.SSID, "\x00\r\n"):
		return fmt.Errorf("%q is not a name of a wireless network: it has 1 to %d bytes, all in one line", a.SSID,
			maxSSID)
	case len(a.Passphrase) < 8 || len(a.Passphrase) > 63 ||
		strings.ContainsFunc(a.Passphrase, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("the passphrase of a wireless network has 8 to 63 letters of ASCII")
	case a.Country != "" && (len(a.Country) != 2 ||
		strings.ContainsFunc(a.Country, func(r rune) bool { return r < 'A' || r > 'Z' })):
		return fmt.Errorf("invalid country %q, such as DE", a.Country)
	case c < 1 || c > 165 || c > 13 && c < 36:
		return fmt.Errorf("channel %d is not between 1 and 13 or 36 and 165", c)
	}
	return nil
}

// configuration is hostapd's. The name is written in hexadecimal, so that no letter in it means
// anything else.
func (a *AccessPoint) configuration(name string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("interface=%s", name)
	line("driver=nl80211")
	line("logger_stdout=-1")
	line("logger_stdout_level=2")
	line("ssid2=%x", a.SSID)
	line("utf8_ssid=1")
	if a.Country != "" {
		line("country_code=%s", a.Country)
		line("ieee80211d=1")
	}
	if a.narrow() {
		line("hw_mode=g")
	} else {
		line("hw_mode=a")
	}
	line("channel=%d", a.channel())
	line("ieee80211n=1")
	line("wmm_enabled=1")
	line("auth_algs=1")
	line("wpa=2")
	line("wpa_key_mgmt=WPA-PSK")
	line("rsn_pairwise=CCMP")
	line("wpa_passphrase=%s", a.Passphrase)
	return b.String()
}
