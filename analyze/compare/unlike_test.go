package compare

import (
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/result"
)

func TestWhatWindowsUsed(t *testing.T) {
	run := func(settings result.Settings, windows ...result.Window) *Set {
		for i := range windows {
			used(&windows[i], &settings)
		}
		return &Set{Runs: []Run{{Name: "1", Settings: settings, Windows: windows}}}
	}
	calibrated := result.Window{Tolerance: 2, MinPixels: 5, Noise: &noise.Calibration{Tolerance: 2, MinPixels: 5,
		SmallestPixels: 6, SmallestLevels: 5}}
	other := calibrated
	other.Noise = &noise.Calibration{Tolerance: 2, MinPixels: 5, SmallestPixels: 6, SmallestLevels: 5, Frames: 7}
	noisier := result.Window{Tolerance: 3, MinPixels: 5, Noise: &noise.Calibration{SmallestPixels: 6,
		SmallestLevels: 7}}
	const calibration = "smallest change seen for certain, by calibration"
	for _, tc := range []struct {
		name string
		a, b *Set
		want []Unlike
	}{
		{"calibrated alike", run(result.Settings{}, calibrated), run(result.Settings{}, other), nil},
		{"calibrated otherwise", run(result.Settings{}, calibrated), run(result.Settings{}, noisier),
			[]Unlike{{"tolerance", []string{"2"}, []string{"3"}},
				{calibration, []string{"6 pixels by 5 levels"}, []string{"6 pixels by 7 levels"}}}},
		{"calibrated and given", run(result.Settings{}, calibrated), run(result.Settings{Tolerance: 2, MinPixels: 5},
			result.Window{Tolerance: 2, MinPixels: 5}),
			[]Unlike{{calibration, []string{"6 pixels by 5 levels"}, []string{"none"}}}},
		{"told by settings alone", run(result.Settings{Tolerance: 2}, result.Window{}),
			run(result.Settings{Tolerance: 2}, result.Window{Tolerance: 2}), nil},
		{"a code strip in one", run(result.Settings{}, result.Window{Masks: [][]int{{0, 0, 768, 8}}}),
			run(result.Settings{}, result.Window{}),
			[]Unlike{{"masks", []string{"768x8+0+0"}, []string{"none"}}}},
		{"two windows", run(result.Settings{}, calibrated, noisier), run(result.Settings{}, calibrated, calibrated),
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
		a, b result.Environment
		want []string
	}{
		{"alike", result.Environment{"browser": "x 1"}, result.Environment{"browser": "x 1"}, nil},
		{"another browser", result.Environment{"browser": "x 1"}, result.Environment{"browser": "x 2"},
			[]string{"browser"}},
		{"known of one", result.Environment{"network": "cable"}, nil, []string{"network"}},
		{"a key of its own", result.Environment{"zoom": "1"}, result.Environment{"zoom": "2"}, []string{"zoom"}},
		{"about as warm", result.Environment{"temperature": "41.5 °C"}, result.Environment{"temperature": "43 °C"},
			nil},
		{"warmer", result.Environment{"temperature": "41.5 °C"}, result.Environment{"temperature": "58 °C"},
			[]string{"temperature"}},
		{"claims of one", result.Environment{"vitals": "observed"}, nil, []string{"vitals"}},
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
