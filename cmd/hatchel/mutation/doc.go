// Package mutation tests what a reviewer relies on: that no change of a configuration which changes its calls is
// without a difference of its surface, that a change of how it is written is none, and that a harmless one is not
// widening.
//
// The tests rewrite every fixture and example. What calls do is judged by their plans, which know nothing of
// surfaces.
package mutation
