package doctor

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
)

// speedText formats bytes per second with decimal units, as buses and disks are sold.
func speedText(v float64) string {
	switch {
	case v >= 999.5e6:
		return fmt.Sprintf("%.2f GB/s", v/1e9)
	case v >= 9.95e6:
		return fmt.Sprintf("%.0f MB/s", v/1e6)
	}
	return fmt.Sprintf("%.1f MB/s", v/1e6)
}

// sizeText formats bytes with binary units, as memory is sold.
func sizeText(v float64) string { return wording.Bytes(int64(v)) }

// spanText formats a time of recording in the largest unit of which there is more than one.
func spanText(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

// seconds makes a duration of seconds, up to a hundred years.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 100*365*24*3600) * float64(time.Second))
}
