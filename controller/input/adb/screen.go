package adb

import (
	"context"
	"fmt"
	"strconv"

	"github.com/eideticker/eideticker/pattern"
)

var wmSize = pattern.New(`(?m)^(Override|Physical) size: (\d{1,5})x(\d{1,5})`)

// screenSize returns the size of the device's screen in pixels, as its window manager has it.
func (d *Device) screenSize(ctx context.Context) (width, height int, err error) {
	said, err := d.Run(ctx, "wm size")
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the screen's size: %w", err)
	}
	for _, m := range wmSize.FindAllStringSubmatch(said, -1) { // an override stands last
		width, _ = strconv.Atoi(m[2]) // five digits
		height, _ = strconv.Atoi(m[3])
	}
	if width == 0 || height == 0 {
		return 0, 0, fmt.Errorf("the device does not say how large its screen is: %.100q", said)
	}
	return width, height, nil
}
