package result

import (
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/vitals"
)

// rules returns the rules of fields, by their names in JSON. Fields without one are free.
func rules() map[reflect.Type]map[string]rule {
	name, text, number := texts(maxName), texts(maxText), rule{condition: finite}
	link, anyLink, region, anyRegion := links(false), links(true), regions(false), regions(true)
	count, known, span := within(0, math.MaxInt64), within(-1, math.MaxInt64), rule{condition: spans}
	frame, anyFrame := index("frames", 0), index("frames", -1)
	function, anyFunction, anyThread := index("functions", 0), index("functions", -1), index("threads", -1)
	share, level, position := rule{condition: shares}, within(0, 255), within(0, maxPosition)
	state := oneOf(analyze.Exact, analyze.Bounded, analyze.Suspected, analyze.Refused)
	return map[reflect.Type]map[string]rule{
		reflect.TypeFor[Results](): {"retried_runs": count, "notes": text},
		reflect.TypeFor[Recording](): {"id name pixel_format": name, "file": anyLink, "frames": within(0, maxFrames),
			"width_px height_px": within(0, maxSide), "period_ns duration_ns": count},
		reflect.TypeFor[Settings](): {"region": anyRegion, "masks": region, "tolerance": level, "min_pixels": count,
			"measures primary": name},
		reflect.TypeFor[noise.Calibration](): {"frames pattern_frames min_pixels": count, "tolerance tiles": level,
			"smallest_pixels smallest_levels": count, "false_rate": share},
		reflect.TypeFor[Window](): {"name": name, "kind": oneOf(Markers, Frames, End, All), "region": anyRegion,
			"masks": region, "tolerance": level, "min_pixels": count, "warnings": text},
		reflect.TypeFor[T0]():   {"source": name, "uncertainty_ns": count},
		reflect.TypeFor[Loss](): {"before_frame": frame, "cause": name},
		reflect.TypeFor[analyze.Result](): {"measure": name, "version": count, "state": state,
			"refusal warnings": text},
		reflect.TypeFor[analyze.Value](): {"name unit": name, "state": state, "value low high threshold": number,
			"better": oneOf(analyze.Higher, analyze.Lower, analyze.Neither, ""), "frames": frame, "note": text},
		reflect.TypeFor[analyze.Series](): {"name unit": name},
		reflect.TypeFor[analyze.Evidence](): {"kind": name, "frame": frame, "text": text, "region": anyRegion,
			"rows": within(0, maxSide)},
		reflect.TypeFor[Check](): {"what unit": name, "claimed": number, "frames": frame, "note": text},
		reflect.TypeFor[Span]():  {"value low high": number},
		reflect.TypeFor[Picture](): {"kind measure": name, "file": link, "data": anyLink, "text": text,
			"frame": anyFrame},
		reflect.TypeFor[Video](): {"file map": link},

		reflect.TypeFor[Network](): {"profile": name, "file": anyLink, "loss_asked_fraction loss_fraction": share,
			"rtt_asked_ns rtt_ns down_asked_bits_per_second down_bits_per_second": count,
			"up_asked_bits_per_second up_bits_per_second bytes_up bytes_down":     count,
			"requests missed names_refused connections":                           count,
			"list by_type by_domain":                                              {most: MostRequests}},
		reflect.TypeFor[Request](): {"method protocol priority": name, "url": text, "status": within(0, 999),
			"name_ns connect_ns tls_ns wait_ns load_ns end_ns wire_bytes body_bytes decoded_bytes": known},
		reflect.TypeFor[vitals.Claims](): {"sentence lcp_element": text, "lcp_region_px": anyRegion,
			"origin_uncertainty_ns": count, "user_timings by_type by_domain": {most: MostRequests},
			"console_errors": text.upTo(MostRequests)},
		reflect.TypeFor[vitals.Timing]():  {"name": text, "at_ms duration_ms": number},
		reflect.TypeFor[vitals.Traffic](): {"name": text, "requests bytes": count},
		reflect.TypeFor[Channel](): {"form": oneOf("exact", "cells"), "losses list": {most: MaxChannelList},
			"broken_frames": frame.upTo(MaxChannelList), "text": text,
			"packet_bytes frames packets bytes packets_lost packets_before packets_broken": count,
			"messages messages_cut": count, "messages_told messages_unsent": known},
		reflect.TypeFor[ChannelLoss]():    {"before_frame": frame},
		reflect.TypeFor[ChannelMessage](): {"frame whole": frame, "bytes": count, "text": text},

		reflect.TypeFor[Script](): {"policies": name.upTo(20), "plain": {most: MaxPlain}, "realms": {most: MaxRealms},
			"gaps": {most: MaxGaps}, "functions": {most: MaxFunctions}, "tasks": {most: MaxTasks},
			"errors": {most: MaxErrors}, "late": {most: MaxLate}, "requests": {most: MaxRequests},
			"reports":  {most: maxReports},
			"warnings": text.upTo(MaxGaps), "log": anyLink,
			"clock_ns records lost tasks_left_out errors_left_out": count},
		reflect.TypeFor[ScriptPrograms](): {"served instrumented bytes covered_bytes added_bytes": count,
			"functions functions_called": count},
		reflect.TypeFor[PlainScript](): {"url reason": text, "count": count},
		reflect.TypeFor[ScriptPlan](): {"points active slow loads needed dropped": count, "probability share": share,
			"adapt off": text},
		reflect.TypeFor[ScriptRealm](): {"url": text,
			"kind": oneOf(RealmWindow, RealmFrame, RealmWorker, RealmNode)},
		reflect.TypeFor[Gap]():        {"records": count, "cause": name, "realm": index("realms", -1)},
		reflect.TypeFor[ScriptCost](): {"per_call_ns counted_ns": span},
		reflect.TypeFor[Function](): {"name url source": text, "line column source_line": position,
			"calls brief":                            count,
			"self_ns total_ns min_ns mean_ns max_ns": span, "natives": {most: MaxNatives}},
		reflect.TypeFor[NativeCall](): {"name": text, "line column": position, "self_ns": span},
		reflect.TypeFor[BriefCalls](): {"calls": count},
		reflect.TypeFor[Task]():       {"function": anyFunction, "realm": index("realms", 0), "calls": count},
		reflect.TypeFor[ScriptError](): {"message url source": text, "line column source_line": position,
			"kind":  oneOf(ErrorThrown, errorRejection, errorCaught, ErrorResource),
			"count": count, "frame": anyFrame, "stack": {most: MaxStack}},
		reflect.TypeFor[Place](): {"function url source": text, "line column source_line": position},
		reflect.TypeFor[LateFrame](): {"window": index("windows", 0), "frame": frame, "unexplained_ns": span,
			"callers": {most: MaxCallers}},
		reflect.TypeFor[PolicyReport](): {"policy": name, "sentence": text, "points active rows_left_out": count,
			"columns": {most: maxColumns}, "rows": {most: MaxPolicyRows}},
		reflect.TypeFor[PolicyColumn](): {"name unit": text},
		reflect.TypeFor[PolicyRow](): {"name url text": text, "line column": position,
			"verdict": oneOf("", "pass", "fail", "more")},
		reflect.TypeFor[SlowRequest](): {"url": text, "by": name,
			"begin_ns": within(0, math.MaxInt64/4), "wait_ns": within(-1, math.MaxInt64/4),
			"took_ns": within(0, math.MaxInt64/4)},
		reflect.TypeFor[RanMeantime](): {"function": function, "self_ns": span},

		reflect.TypeFor[Profile](): {"traces": {most: MaxTraces}, "functions": {most: MaxProfileFunctions},
			"threads": {most: MaxThreads}, "late": {most: MaxLate}, "tests": {most: MaxTests},
			"events": {most: MaxProfileEvents}, "claims": {most: MaxClaims}, "sockets": {most: maxSocketWaits},
			"warnings": text.upTo(MaxGaps), "late_frames other_frames events_left_out": count},
		reflect.TypeFor[ProfileTrace](): {"name engine way": name, "why clock_text": text,
			"events lost clock_ns": count, "unnamed cut": share},
		reflect.TypeFor[ProfileFunction](): {"name file": text, "module": name, "line column": position, "calls": known,
			"language": oneOf("", "native", "javascript", "kernel", "category"), "self_ns total_ns": count},
		reflect.TypeFor[ProfileThread](): {"name process_name": name, "running_ns step_ns": count,
			"lane": within(0, 100).upTo(maxLane)},
		reflect.TypeFor[ProfileLate](): {"window": index("windows", 0), "frame": frame,
			"threads": {most: MaxLateThreads}, "work": {most: MaxWork}, "lost": text.upTo(MaxLateThreads)},
		reflect.TypeFor[ProfileWork](): {"thread": index("threads", 0), "ns": count,
			"kind": oneOf(WorkStyle, WorkLayout, WorkPaint, WorkDecode, WorkCompile, WorkGC)},
		reflect.TypeFor[ProfileActive](): {"thread": index("threads", 0), "function": anyFunction,
			"running_ns runnable_ns waiting_ns function_ns": span, "tree": {most: MaxTree}, "waits": {most: MaxWaits}},
		reflect.TypeFor[ProfileNode](): {"function": anyFunction, "ns low_ns high_ns samples": count,
			"callers": {most: MaxTree}},
		reflect.TypeFor[ProfileWait](): {"ns times": count, "functions": anyFunction.upTo(MaxWaitStack),
			"woken_by": anyThread},
		reflect.TypeFor[ProfileTest](): {"function": anyFunction, "p": share,
			"late_ns low_ns high_ns other_ns frame_ns frames": count},
		reflect.TypeFor[ProfileEvent](): {"kind name": name, "thread": anyThread, "duration_ns": count,
			"frame": anyFrame},
		reflect.TypeFor[SocketWait](): {"thread": anyThread, "call": name, "request": text, "bytes woken_ns": count},
		reflect.TypeFor[ProfileClaims](): {"trace": name, "window": index("windows", 0),
			"by": oneOf("", ByStrip, ByOrder), "good_frames": frame.upTo(MaxLate),
			"frames matched jank jank_without_effect late late_called_good": count},
		reflect.TypeFor[FrameTimes](): {},
	}
}

// upTo limits the entries of a list.
func (r rule) upTo(most int) rule {
	r.most = most
	return r
}

func textFault(s string, most int) string {
	if len(s) > most || !utf8.ValidString(s) {
		return fmt.Sprintf("of %d bytes, want at most %d of UTF-8", len(s), most)
	}
	return ""
}

func texts(most int) rule {
	return rule{condition: func(_ *checker, v reflect.Value) string { return textFault(v.String(), most) }}
}

// links wants the name of a file in the run folder, in slashes. Nothing in it may mean something
// else in a URL or on another system.
func links(optional bool) rule {
	return rule{condition: func(_ *checker, v reflect.Value) string {
		name := v.String()
		if optional && name == "" {
			return ""
		}
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:?#%*<>|\"\x00") {
			return fmt.Sprintf("%.80q is not the name of a file in the run folder", name)
		}
		return textFault(name, maxName)
	}}
}

// regions wants x, y, width and height.
func regions(optional bool) rule {
	return rule{region: true, condition: func(_ *checker, v reflect.Value) string {
		r := v.Interface().([]int)
		if optional && len(r) == 0 ||
			len(r) == 4 && !slices.ContainsFunc(r, func(n int) bool { return n < 0 || n > maxSide }) {
			return ""
		}
		return fmt.Sprintf("%v, want x, y, width, height", r[:min(len(r), 6)])
	}}
}

func oneOf[T ~string](all ...T) rule {
	return rule{condition: func(_ *checker, v reflect.Value) string {
		if slices.Contains(all, T(v.String())) {
			return ""
		}
		return fmt.Sprintf("is %.40q", v.String())
	}}
}

// within wants integers of a range.
func within(low, high int64) rule {
	return rule{condition: func(_ *checker, v reflect.Value) string {
		n := int64(0)
		if v.CanUint() {
			n = int64(v.Uint())
		} else {
			n = v.Int()
		}
		switch {
		case n >= low && n <= high:
			return ""
		case high == math.MaxInt64:
			return fmt.Sprintf("is %d, want at least %d", n, low)
		}
		return fmt.Sprintf("is %d, want %d to %d", n, low, high)
	}}
}

// index wants an index of a list, or one from least on.
func index(list string, least int64) rule {
	return rule{condition: func(c *checker, v reflect.Value) string {
		if n := v.Int(); n < least || n >= int64(c.lists[list]) {
			return fmt.Sprintf("is %d, and there are %d %s", n, c.lists[list], list)
		}
		return ""
	}}
}

func finite(_ *checker, v reflect.Value) string {
	if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprintf("is %g", x)
	}
	return ""
}

func shares(_ *checker, v reflect.Value) string {
	if x := v.Float(); x >= 0 && x <= 1 { // false for NaN
		return ""
	}
	return fmt.Sprintf("is %g, want 0 to 1", v.Float())
}

// spans wants finite bounds on either side of a value that is not negative.
func spans(_ *checker, v reflect.Value) string {
	s := v.Interface().(Span)
	if s.Low >= 0 && s.Low <= s.Value && s.Value <= s.High && s.High <= MaxSpan { // false for NaN
		return ""
	}
	return fmt.Sprintf("of %g is not between %g and %g, or they are out of range", s.Value, s.Low, s.High)
}
