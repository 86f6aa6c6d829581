package main

import "testing"

func TestThresholds(t *testing.T) {
	for text, want := range map[string]float64{"3%": 0.03, "0.05": 0.05, " 2.5 % ": 0.025, "0": 0} {
		var f fraction
		if err := f.UnmarshalText([]byte(text)); err != nil || f.value != want || !f.given {
			t.Errorf("%q: %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "%", "-1%", "nan", "lots", "1e9", "3", "1"} {
		var f fraction
		if err := f.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, f)
		}
	}
}
