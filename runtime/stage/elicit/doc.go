// Package elicit asks the client of a call: from the ask blocks of a step to elicitation, sampling
// and roots requests, and from the answers to values.
//
// A client of a revision before 2026-07-28 is asked while the call waits. For any other, and when the
// server stops meanwhile, [Exchange.Ask] fails with a [PausedError]: the call is frozen
// ([AppendFrozen]), sealed into a state token ([Sealer]), and resumes with the request that brings the
// answers, or in the process that the client comes back to.
package elicit
