package device

import (
	"fmt"
	"strconv"

	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// AccessPoint is the wireless network by which a device is fed, as a file of devices has it.
type AccessPoint struct {
	SSID       string // its name
	Passphrase string // the file that holds it
	Channel    int    // 0: the usual one
	Country    string // whose rules for radio apply, such as DE; "": those that hold everywhere
}

// accessPoint is the one notation that there is, so that the schema can have it too.
var accessPoint = pattern.New(
	`^([A-Za-z0-9 ._-]{1,32})\?passphrase=(/[A-Za-z0-9/._-]{1,255})(?:&channel=([0-9]{1,3}))?(?:&country=([A-Z]{2}))?$`)

// ParseAccessPoint reads NAME?passphrase=FILE&channel=N&country=XX, of which the last two may be
// left out. "" is none.
func ParseAccessPoint(s string) (a AccessPoint, err error) {
	if s == "" {
		return a, nil
	}
	m := accessPoint.FindStringSubmatch(s)
	if m == nil {
		return a, fmt.Errorf("access-point %q: must be NAME?passphrase=/FILE[&channel=36][&country=DE]", strict.Clip(s))
	}
	a = AccessPoint{SSID: m[1], Passphrase: m[2], Country: m[4]}
	if m[3] != "" {
		a.Channel, err = strconv.Atoi(m[3])
	}
	return a, err
}

func checkAccessPoint(s string) error {
	if s == "" {
		return fmt.Errorf("access-point is empty; omit it for a device with a cable")
	}
	_, err := ParseAccessPoint(s)
	return err
}
