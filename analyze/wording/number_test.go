package wording

import (
	"math"
	"slices"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -1: "-1", -999: "-999",
		-1000: "-1,000", -123456: "-123,456",
	} {
		if got := Count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Plural(1, "frame") + ", " + Plural(0, "frame") + ", " +
		Plural(uint64(1200), "frame"); got != "1 frame, 0 frames, 1,200 frames" {
		t.Errorf("%q", got)
	}
}

func TestNumber(t *testing.T) {
	for _, tc := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {60, "60"}, {-3, "−3"}, {59.94006, "59.94"}, {-0.12345, "−0.1235"}, {1234.56, "1,235"},
		{-123456.7, "−123,457"}, {1e15, "1e+15"}, {math.Inf(-1), "−Inf"},
	} {
		if got := Number(tc.v); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.v, got, tc.want)
		}
	}
}

func TestFew(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	var got []string
	for _, n := range []int{0, 1, 5, 7} {
		got = append(got, Few(names[:n]))
	}
	if want := []string{"", "a", "a, b, c, d, e", "a, b, c, d, e and 2 more"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
