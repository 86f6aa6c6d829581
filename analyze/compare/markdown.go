package compare

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// WriteMarkdown writes the answer and the primary values for a comment in a code review. Other
// values are folded, unless they regressed. Texts from files are escaped.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	nameA, nameB := c.Names()
	fmt.Fprintf(&b, "**%s**\n", plainMarkdown(c.Answer()))
	if cause := c.Cause(); cause != "" {
		fmt.Fprintf(&b, "\n%s\n", plainMarkdown(cause))
	}
	table := func(title string, values []Value, want func(*Value) bool) (rows int) {
		for i := range values {
			v := &values[i]
			if !want(v) {
				continue
			}
			if rows++; rows == 1 {
				fmt.Fprintf(&b, "\n| %s | %s | %s | difference | verdict |\n|---|--:|--:|--:|---|\n", title,
					plainMarkdown(nameA), plainMarkdown(nameB))
			}
			unit := plainMarkdown(v.Measure.Unit)
			if unit != "" {
				unit = " " + unit
			}
			fmt.Fprintf(&b, "| %s | %s%s | %s%s | %s | %s |\n", plainMarkdown(v.Key.String()),
				wording.Number(v.MedianA.Estimate), unit, wording.Number(v.MedianB.Estimate), unit,
				plainMarkdown(v.Size()), plainMarkdown(cmp.Or(v.Untested, string(v.Verdict))))
		}
		return rows
	}
	shown := func(v *Value) bool { return v.Primary || v.Verdict == stats.Regressed }
	table("value", c.Values, shown)
	table("function, with its callees", c.Functions, func(*Value) bool { return true })
	fmt.Fprintf(&b, "\n%s. Level: %s.\n", plainMarkdown(c.Test()), plainMarkdown(c.Level()))
	for _, d := range c.Unlike {
		fmt.Fprintf(&b, "\n- %s: %s, and %s\n", plainMarkdown(d.Name), plainMarkdown(wording.Few(d.A)),
			plainMarkdown(wording.Few(d.B)))
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "\n- Warning: %s\n", plainMarkdown(warning))
	}
	b.WriteString("\n<details><summary>Other values</summary>\n")
	if table("value", c.Values, func(v *Value) bool { return !shown(v) }) == 0 {
		b.WriteString("\nNone.\n")
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

var markdownMarks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;",
	"*", "&#42;", "[", "&#91;", "]", "&#93;", "@", "&#64;", "#", "&#35;", "~", "&#126;", "\\", "&#92;",
	"://", "&#58;//", "www.", "www&#46;")

// plainMarkdown returns a text without line breaks, marks, mentions and links.
func plainMarkdown(text string) string {
	return markdownMarks.Replace(strings.Join(strings.Fields(text), " "))
}
