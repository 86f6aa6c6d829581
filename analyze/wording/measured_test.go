package wording

import "testing"

func TestMeasured(t *testing.T) {
	exact := func(x float64, unit string) Measured {
		return Measured{Value: x, Low: x, High: x, Unit: unit}
	}
	bounded := func(x, low, high float64, unit string) Measured {
		return Measured{Value: x, Low: low, High: high, Unit: unit, Bounded: true}
	}
	for _, tc := range []struct {
		name         string
		v            Measured
		text, bounds string
	}{
		{"count", exact(48_211_930, "pixels"), "48,211,930 pixels", ""},
		{"exact", exact(59.9401, "frames/s"), "59.94 frames/s", ""},
		{"small", exact(0.04126, "ms"), "0.041 ms", ""},
		{"nothing", exact(0, "frames"), "0 frames", ""},
		{"less than nothing", exact(-1234.5, "px"), "−1,234.5 px", ""},
		{"next to nothing", exact(-0.0001, "px"), "0 px", ""},
		{"fraction", exact(0.0413, "fraction"), "4.13 %", ""},
		{"no unit", exact(3, ""), "3", ""},
		{"one", exact(1, "frames"), "1 frame", ""},
		{"one of another kind", exact(1, "ms"), "1 ms", ""},
		{"one in a second", exact(1, "frames/s"), "1 frames/s", ""},
		{"wide bounds", bounded(1204.71, 1150, 1290, "ms"), "1,205 ms", "1,150 – 1,290"},
		{"narrow bounds", bounded(59.94012, 59.93, 59.95, "frames/s"), "59.94 frames/s", "59.93 – 59.95"},
		{"bounds of counts", bounded(102, 102, 105, "frames"), "102 frames", "102 – 105"},
		{"bounds of a clock that hardly jitters", bounded(58.5, 58.49999999, 58.50000001, "frames/s"), "58.50 frames/s",
			"within rounding"},
		{"bounds of a fraction", bounded(0.5, 0.48, 0.52, "fraction"), "50.0 %", "48.0 – 52.0"},
		{"bounds that meet", bounded(3, 3, 3, "ms"), "3 ms", "within rounding"},
		{"bounds that look the same", bounded(3983.3333, 3983.33328, 3983.33332, "ms"), "3,983.3 ms",
			"within rounding"},
		{"below the last digit", bounded(1.3e-7, 1e-7, 2e-7, "px"), "0.000 px", "within rounding"},
		{"a fraction's bounds that look the same", bounded(0.5, 0.4999999, 0.5000001, "fraction"), "50.00 %",
			"within rounding"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.v.Text(); got != tc.text {
				t.Errorf("value is %q, want %q", got, tc.text)
			}
			if got := tc.v.Bounds(); got != tc.bounds {
				t.Errorf("bounds are %q, want %q", got, tc.bounds)
			}
		})
	}
}
