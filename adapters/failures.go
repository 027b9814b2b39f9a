package adapters

// Failures counts the elements and steps of a call that failed and did not end it, because of on_error = "continue".
// Those of the tools that it calls are counted, too. The zero value is that of a call in which none has run.
type Failures struct {
	Failed int    `json:"failed"`
	Of     int    `json:"of"`              // how many elements and steps with on_error = "continue" were run
	Step   string `json:"step,omitempty"`  // the first step that failed, in written order
	Key    string `json:"key,omitempty"`   // of its first element that failed, in the order of each; empty for none
	Error  string `json:"error,omitempty"` // the message of that failure, which names the element
	Cause  error  `json:"-"`               // of that failure, for the log; nil for none
}

// Add adds what came after. The first failure stays the first one.
func (f *Failures) Add(next Failures) {
	if f.Failed == 0 && next.Failed > 0 {
		f.Step, f.Key, f.Error, f.Cause = next.Step, next.Key, next.Error, next.Cause
	}
	f.Failed += next.Failed
	f.Of += next.Of
}
