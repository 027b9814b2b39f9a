package hcl

// reads are what the parts compiled so far depend on. The zero value depends on nothing.
type reads struct {
	call      bool // a value of the call, or something that is wrong
	sensitive bool
	caller    bool // the caller's identity
	loop      int  // loopVars minus the lowest slot of the variables read of loops around; 0 when none is
}

const loopVars = 1 << 30

func (r reads) and(s reads) reads {
	return reads{r.call || s.call, r.sensitive || s.sensitive, r.caller || s.caller, max(r.loop, s.loop)}
}

// known reports whether what was read is known when the file is loaded.
func (r reads) known() bool { return !r.call && r.loop == 0 }

// reading compiles something and tells what it reads.
func (c *compiler) reading(compile func()) reads {
	outer := c.reads
	c.reads = reads{}
	compile()
	inner := c.reads
	c.reads = outer.and(inner)
	return inner
}

// looping compiles a loop: its own variables are nothing that it depends on.
func (c *compiler) looping(compile func()) reads {
	first, outer := c.slots, c.reads
	c.reads = reads{}
	compile()
	if loopVars-c.reads.loop >= first {
		c.reads.loop = 0
	}
	inner := c.reads
	c.reads = outer.and(inner)
	return inner
}
