package attach

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/clock"
	"github.com/eideticker/eideticker/capture/timeline"
)

func number(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func message(field protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), bytes.Join(parts, nil))
}

// markTraces write marks of pictures at times, in ns, in each format. The first mark is malformed.
var markTraces = map[string]func(names []string, at []int64) []byte{
	"Chrome JSON trace": func(names []string, at []int64) []byte {
		text := `{"traceEvents":[{"ph":"I","name":"eideticker-strip:999:1","pid":1,"tid":2,"ts":1}`
		for i, name := range names {
			text += fmt.Sprintf(`,{"ph":"I","cat":"blink.user_timing","name":%q,"pid":1,"tid":2,"ts":%d.%03d}`, name,
				at[i]/1000, at[i]%1000)
		}
		return []byte(text + "]}")
	},
	"Firefox profile": func(names []string, at []int64) []byte {
		var times, data []string
		for i, name := range append([]string{"eideticker-strip:1"}, names...) {
			times = append(times, fmt.Sprintf("%d.%06d", at[max(i-1, 0)]/1e6, at[max(i-1, 0)]%1e6))
			data = append(data, fmt.Sprintf(`{"type":"UserTiming","name":%q,"entryType":"mark"}`, name))
		}
		all := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", len(times)), ",") }
		return fmt.Appendf(nil, `{"meta":{"startTime":0,"interval":1,"product":"Firefox"},"threads":[{
			"name":"GeckoMain","pid":"7","tid":8,"processType":"tab","samples":{"stack":[],"timeDeltas":[],"length":0},
			"markers":{"name":[%s],"startTime":[%s],"endTime":[%s],"phase":[%[3]s],"data":[%[4]s],
			"length":%[5]d}}],"shared":{"stringArray":
			["UserTiming"],"stackTable":{"frame":[],"prefix":[]},"frameTable":{"func":[]},"funcTable":{"name":[],
			"fileName":[],"lineNumber":[],"isJS":[]}}}`, all("0"), strings.Join(times, ","), all("0"),
			strings.Join(data, ","), len(times))
	},
	"Perfetto trace": func(names []string, at []int64) []byte {
		raw := message(1, number(10, 1), number(13, 1), message(6, message(1, number(1, 3), number(2, 1)),
			message(1, number(1, 6), number(2, 1))), message(60, number(1, 7), message(4, number(1, 1), number(2, 2))))
		for i, name := range append([]string{"eideticker-strip:1:x"}, names...) {
			raw = append(raw, message(1, number(8, uint64(at[max(i-1, 0)])), number(10, 1),
				message(11, number(9, 3), number(11, 7), message(23, []byte(name))))...)
		}
		return raw
	},
}

// TestStrips: marks of pictures bound a clock without network or inputs. The bounds of 1,000 times
// hold the true times, with an offset and drifts. Ambiguous marks are left out.
func TestStrips(t *testing.T) {
	const ms = int64(time.Millisecond)
	r := rand.New(rand.NewPCG(17, 37))
	for format, write := range markTraces {
		for _, ppm := range []float64{37, -400, 0} {
			begin := int64(50_100e9)
			change := func(rig int64) int64 { return 1e9 + int64(float64(rig-begin)/(1+ppm*1e-6)) }
			facts := &runFacts{Recording: "1", Begin: timeline.Time(begin), End: timeline.Time(begin + 10e9),
				Wall: 1795498496873e6, WallWithin: 1e6}
			var names []string
			var at []int64
			for i := range int64(600) {
				animation := begin + i*16_666_667 + r.Int64N(ms)
				mark := animation + ms/10 + r.Int64N(8*ms)
				seen := mark + 12*ms + r.Int64N(20*ms)
				names, at = append(names, fmt.Sprint(activity.StripMark, "1:", i)), append(at, change(mark))
				if i%7 > 0 { // the others were not captured
					from, to := timeline.Time(animation-ms), timeline.Time(animation+ms)
					facts.Pictures = append(facts.Pictures, picture{seen: timeline.Time(seen),
						id: stripID{1, uint32(i)}, drawn: timeline.Interval{Earliest: from, Latest: to}})
				}
			}
			names, at = append(names, names[1]), append(at, change(begin+9e9)) // a page that marks twice
			path := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(path, write(names, at), 0o600); err != nil {
				t.Fatal(err)
			}
			u, err := unpack(path)
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			f, err := detect(u)
			if err != nil || f.name != format {
				t.Fatal(format, f.name, err)
			}
			var sink activitytest.Sink
			c, err := f.read(u, &sink)
			if err != nil || len(c.Strips) != 601 || len(sink.Events) > 1 { // the malformed mark is a record
				t.Fatalf("%s: %v, %d strips, %d records, skipped %v", format, err, len(c.Strips), len(sink.Events),
					c.Skipped)
			}
			j, err := join(t.Context(), c, facts, Mode{}, false)
			if err != nil {
				t.Fatalf("%s, %v ppm: %v", format, ppm, err)
			}
			if len(j.Used) != 513 || len(j.Discarded) > 0 || j.Clock.Exact ||
				!strings.Contains(j.Clock.Text, "513 strips") ||
				slices.ContainsFunc(j.Used, func(e clock.Evidence) bool { return e.Witness == "1 of page 1" }) {
				t.Errorf("%s, %v ppm: %s, %d used, discarded %v", format, ppm, j.Clock.Text, len(j.Used), j.Discarded)
			}
			for range 1000 {
				rig := begin + r.Int64N(10e9)
				if earliest, latest := j.Clock.Bounds(change(rig)); rig < earliest-1 || rig > latest+1 ||
					latest-earliest > 25*ms {
					t.Fatalf("%s, %v ppm: %d is %d to %d", format, ppm, rig, earliest, latest)
				}
			}
			// A picture that was seen before its mark contradicts the others, and is named.
			facts.Pictures[100].seen = timeline.Time(int64(facts.Pictures[100].drawn.Earliest) - 3000*ms)
			j, err = join(t.Context(), c, facts, Mode{}, false)
			if err != nil || len(j.Discarded) != 1 || j.Discarded[0].Kind != "strip" {
				t.Errorf("%s: %v, discarded %v", format, err, j.Discarded)
			}
		}
	}
}
