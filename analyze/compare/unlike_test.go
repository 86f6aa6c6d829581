package compare

import (
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
)

func TestWhatWindowsUsed(t *testing.T) {
	run := func(settings report.Settings, windows ...report.Window) *Set {
		for i := range windows {
			used(&windows[i], &settings)
		}
		return &Set{Runs: []Run{{Name: "1", Settings: settings, Windows: windows}}}
	}
	calibrated := report.Window{Tolerance: 2, MinPixels: 5, Noise: &analyze.Noise{Tolerance: 2, MinPixels: 5,
		SmallestPixels: 6, SmallestLevels: 5}}
	other := calibrated
	other.Noise = &analyze.Noise{Tolerance: 2, MinPixels: 5, SmallestPixels: 6, SmallestLevels: 5, Frames: 7}
	noisier := report.Window{Tolerance: 3, MinPixels: 5, Noise: &analyze.Noise{SmallestPixels: 6, SmallestLevels: 7}}
	const calibration = "smallest change seen for certain, by calibration"
	for _, tc := range []struct {
		name string
		a, b *Set
		want []Unlike
	}{
		{"calibrated alike", run(report.Settings{}, calibrated), run(report.Settings{}, other), nil},
		{"calibrated otherwise", run(report.Settings{}, calibrated), run(report.Settings{}, noisier),
			[]Unlike{{"tolerance", []string{"2"}, []string{"3"}},
				{calibration, []string{"6 pixels by 5 levels"}, []string{"6 pixels by 7 levels"}}}},
		{"calibrated and given", run(report.Settings{}, calibrated), run(report.Settings{Tolerance: 2, MinPixels: 5},
			report.Window{Tolerance: 2, MinPixels: 5}),
			[]Unlike{{calibration, []string{"6 pixels by 5 levels"}, []string{"none"}}}},
		{"told by settings alone", run(report.Settings{Tolerance: 2}, report.Window{}),
			run(report.Settings{Tolerance: 2}, report.Window{Tolerance: 2}), nil},
		{"a code strip in one", run(report.Settings{}, report.Window{Masks: [][]int{{0, 0, 768, 8}}}),
			run(report.Settings{}, report.Window{}),
			[]Unlike{{"masks", []string{"768x8+0+0"}, []string{"none"}}}},
		{"two windows", run(report.Settings{}, calibrated, noisier), run(report.Settings{}, calibrated, calibrated),
			[]Unlike{{"tolerance", []string{"2 and 3"}, []string{"2"}},
				{calibration, []string{"6 pixels by 5 levels and 6 pixels by 7 levels"},
					[]string{"6 pixels by 5 levels"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := differing(tc.a, tc.b); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestEnvironments(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b report.Environment
		want []string
	}{
		{"alike", report.Environment{"browser": "x 1"}, report.Environment{"browser": "x 1"}, nil},
		{"another browser", report.Environment{"browser": "x 1"}, report.Environment{"browser": "x 2"},
			[]string{"browser"}},
		{"known of one", report.Environment{"network": "cable"}, nil, []string{"network"}},
		{"a key of its own", report.Environment{"zoom": "1"}, report.Environment{"zoom": "2"}, []string{"zoom"}},
		{"about as warm", report.Environment{"temperature": "41.5 °C"}, report.Environment{"temperature": "43 °C"},
			nil},
		{"warmer", report.Environment{"temperature": "41.5 °C"}, report.Environment{"temperature": "58 °C"},
			[]string{"temperature"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one := map[string]analyze.Value{"w": rate(60)}
			a, b := &Set{Runs: []Run{madeRun("1", tc.a, one, "w")}}, &Set{Runs: []Run{madeRun("1", tc.b, one, "w")}}
			var names []string
			for _, d := range differing(a, b) {
				names = append(names, d.Name)
			}
			if !slices.Equal(names, tc.want) {
				t.Errorf("%v, want %v", names, tc.want)
			}
		})
	}
}
