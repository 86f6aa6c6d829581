package wording

import "time"

// Age formats an age in its largest unit.
func Age(age time.Duration) string {
	for _, unit := range []struct {
		name string
		long time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(age / unit.long); n > 0 {
			return Plural(n, unit.name)
		}
	}
	return "less than a minute"
}
