// Package metrics turns what happens in a process into metrics that Prometheus scrapes.
//
// [New] makes the instruments of a process, which outlive configurations. Their names and labels are the table of
// [Families]. Every label value comes from the configuration or from a fixed list: what callers send never makes a
// series. The methods of a nil [Operation] and a nil [Backend] do nothing, so code without metrics pays a nil check.
package metrics
