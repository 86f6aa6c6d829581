// Package report makes report.html from results, and has the ES modules that draw results.
//
// Place in the flow: last. It reads results of package result and files of the run folder. It
// measures nothing and decodes no frame.
//
// The page is a template with the results, the style and the modules inlined. It works from a file,
// without network. The rig's page loads the same modules, so a run looks the same in both. Package
// compare makes the pages of comparisons and sets by [Document].
package report
