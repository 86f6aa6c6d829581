package wording

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for age, want := range map[time.Duration]string{time.Second: "less than a minute", 90 * time.Second: "1 minute",
		49 * time.Hour: "2 days"} {
		if got := Age(age); got != want {
			t.Errorf("%v: %s", age, got)
		}
	}
}
