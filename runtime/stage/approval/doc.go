// Package approval keeps the approvals that calls need before they may run. [Store.Open] requests an
// approval, the caller waits for the decision with [Store.Wait], an approver decides with
// [Store.Decide], and exactly one of the waiting calls uses the approval with [Store.Use]. Any number of
// processes may work on the same state store.
//
// The store decides: of two concurrent decisions one wins, and an approval that nobody has decided
// in time is not given. [Store.Void] ends a pending approval that no longer applies.
//
// A decision that must be in an audit log before it takes effect is made in two steps:
// [Store.Propose] stores it with the approval, which keeps others from deciding, and [Store.Confirm]
// makes it effective. A process that cannot record it leaves it to one that calls [Store.Claim].
package approval
