package runtime

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

// testsOfCalls are the tests of policies, approvals, scopes, limits, keys, tasks, pages, questions and records. Those
// that take long are not here: `make searched`, a part of `make check-release`, runs all tests of this package so.
var testsOfCalls = []func(*testing.T){
	TestABackendAsksTheClient, TestACallThatALimitRefusesUsesNoApproval,
	TestACallThatCannotBeWrittenDownUsesNoApproval, TestACallThatCannotBecomeATaskUsesNoApproval,
	TestACallThatHasLostItsKeyIsNotAnsweredWithOtherWork, TestACallWithoutIdentityDoesNothingOfItsEarlierSteps,
	TestAConnectionWithoutARateNeedsNoState, TestACursorBelongsToOneCallOfOneCaller, TestACursorExpires,
	TestAFailureOfAKeyIsItsResult, TestAFullStoreTakesNoNewTaskAndNoLargeState,
	TestAKeyIsFreeWhileItsCallWaitsForApproval, TestAKeyIsHeldByACallThatHasActedAndWaits,
	TestAKeyIsHeldWhileABackendAsks, TestALegacyClientIsAskedByABackendWhileTheCallWaits,
	TestALegacyClientIsAskedThreeTimes, TestALegacyClientIsAskedWhileTheCallWaits,
	TestALimitOfTheToolIsSharedByItsCallers, TestALooserRateHoldsFromTheNextTurnOn,
	TestAModernClientThatHangsUpEndsItsCallAndNotTheApproval, TestAPageThatIsCutGoesOnAfterItsLastRow,
	TestAPolicyAsksForApprovalAndAllowsNothing, TestAPromptAndAResourceCanAskTheClient,
	TestAQueueAlsoWaitsForTheRate, TestARateIsHeldByAllThatShareAState, TestARateIsHeldForEachCaller,
	TestAReloadLeavesTasksAlone, TestAReloadLeavesToolsThatTasksCallAlone, TestAReplayedAnswerIsWrittenDownAsOne,
	TestAReportNamesPolicies, TestAStepThatMayFailStillAsks, TestAStepThatWaitsIsNotDoneForAKeyThatWasTakenAway,
	TestATaskBelongsToTheTraceOfItsCall, TestATaskComesToWhatTheCallWouldHave,
	TestATaskContinuesTheTraceOfItsCall, TestATaskIsAnsweredTheMomentItAsks, TestATaskIsCancelled,
	TestATaskIsForgottenWhenItsTimeHasPassed, TestATaskKnowsHowManyServersItsCallHasPassed,
	TestATaskOfAnotherDoesNotExist, TestATaskRequestIsServedFromOneConfiguration,
	TestATaskSaysThatItsCallHasFailedInPart, TestATaskThatWaitsEndsWhenItsToolChanges,
	TestATaskThatWaitsIsNotDoneForAKeyThatWasTakenAway, TestATaskWaitsForItsClient,
	TestATimeoutBeforeAnythingWasSentFreesTheKey, TestAToolIsLimitedAsAStepToo, TestAUserWhoDeclinesEndsTheTask,
	TestAnApprovalHoldsForTheIdentityThatWasShown, TestAnApprovalIsForOneCallOnly,
	TestAnApprovalSaysWhatItsCallCameTo, TestAnApprovalThatWasGivenIsUsedInTimeOrNotAtAll,
	TestAnApproverIsShownTheStateBeforeWithoutSensitiveInputs, TestAnOperatorIsAskedForWhatTheUserWants,
	TestAnswersThatCannotBeUsedAreAskedForAgain, TestApprovalsArePublishedOnce,
	TestCachesKeysAnswersTasksAndTheStateAreMeasured, TestCallsThatAskTheSameAtOnceWaitForOne,
	TestDriftIsInReadinessMetricsEventsAuditAndLog, TestFollowingGivesUpWithWhoAsked,
	TestHealthOfWhatDoesNotAnswerIsAskedAtOnce, TestKeysOfElementsAreTextsThatNoOtherElementHas,
	TestLargeArgumentsAreWrittenDownByTheirBeginningAndTheirDigest, TestMistakesOfAPageAreFound,
	TestNoMoreRunAtOnceThanTheLimitSays, TestNothingIsDoneThatCannotBeWrittenDown,
	TestOfManyReportsOfATaskTheLastIsKept, TestOnlyWhoCanFollowATaskGetsOne,
	TestPagesWithoutKeysLeaveOutWhatWasDelivered, TestPromptsAndResourcesNeedNoApprovalOfTheirOwn,
	TestPromptsAreWritten, TestPromptsAskToo, TestReadinessAsksNoUpstreamServer,
	TestRepeatAsksUntilTheAnswerIsFinal, TestScopesAreThoseOfAllThatACallTakes,
	TestSecretsStayOutOfWhatTheDeniedAreTold, TestSlowOpeningDelaysOnlyItsOwnKey,
	TestSlowWriteOfATaskHoldsNoOther, TestTasksAndQuestionsAreThoseOfTheirCaller,
	TestTasksAreWrittenDownWhenTheyBeginAndWhenTheyEnd, TestTasksOutliveTheProcess,
	TestTasksReloadsAndConnectionsArePublished, TestTheEarlierValueOfASecretIsHiddenForADay,
	TestTheKeyOfACacheSaysWhatTheAnswerDependsOn, TestTheKeyOfACallReachesItsBackends,
	TestTheKeyOfAnElementDoesNotDependOnItsPlace, TestTheRateOfAConnectionIsHeldByAllThatShareAState,
	TestTheRecordOfAKeySaysThatItsCallHasFailedInPart, TestTheSameKeyIsCarriedOutOnce,
	TestTheSameKeyIsTheSameTask, TestTheSameKeyWaitsForTheFirst, TestTheServersLimitCountsAllToolsAndNoSteps,
	TestTwoTasksWithOneKeyAreDoneOnce, TestWaitingForAnApprovalIsAnEvent,
	TestWebhooksAreToldOnceThatAnOperatorIsAsked, TestWhatBecomesOfATaskIsBoundedToo,
	TestWhatCannotBeRememberedIsNotApproved, TestWhatChangesSomethingIsWrittenDownBeforeItIsDone,
	TestWhatHasBegunWithoutAnybodyBeingToldFreesItsKey, TestWhatIsAskedBeforeATaskIsAskedOfTheCall,
	TestWhatIsCalledByAToolCannotAsk, TestWhatIsConfiguredAnewIsApprovedAnew,
	TestWhatIsKnownOfTheCallerIsPartOfWhatIsApproved, TestWhatMayNotBeCalledIsNotReadWrittenCompletedOrFollowed,
	TestWhatNeedsApprovalIsNotAnsweredFromTheCache, TestWhatNoRuleIsAboutIsNotAskedAbout,
	TestWhatNobodyMaySeeIsNotWrittenDown, TestWhoCannotBeAskedToAgreeIsRefused,
	TestWhoFollowsATaskIsToldWhatBecomesOfIt, TestWhoHasAgreedIsHeldToTheLimits,
	TestWhoHasBecomeAnotherSinceTheQuestionIsAskedAgain, TestWhoWaitsForTheAnswerGetsNoTask,
	TestWithoutARateNothingIsRemembered,
}

// TestACallThroughAnExecutorIsTheCallOfItsTool runs the tests of calls again, with each request held by one of an
// executor.
func TestACallThroughAnExecutorIsTheCallOfItsTool(t *testing.T) {
	if throughSearch.on {
		t.Skip("all tests run so")
	}
	throughSearch = searchSwitch{on: true}
	defer func() { throughSearch = searchSwitch{} }()
	for _, test := range testsOfCalls {
		name := goruntime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		t.Run(name[strings.LastIndex(name, ".")+1:], test)
	}
	if n := throughSearch.calls; n < 300 {
		t.Errorf("%d calls were made by executors", n)
	}
}

// throughSearch has the calls of tests made by the executors of a search block.
var throughSearch = searchSwitch{on: os.Getenv("THROUGH_SEARCH") != ""}

// searchSwitch is whether calls are made by executors. Tests that turn it run alone.
type searchSwitch struct {
	on    bool
	calls int // that were made by executors
}

// needsOwnNames skips a test that executors cannot make the calls of while they make those of all tests.
func needsOwnNames(t *testing.T, why string) {
	t.Helper()
	if throughSearch.on {
		t.Skip(why)
	}
}

const searchedToolset = `
toolset "searched" {
  tools = ["*"]
  search { areas = "Everything." }
}
`

// addToolset adds a toolset with a search block to a configuration with tools.
func (s *searchSwitch) addToolset(src string) string {
	if !s.on || !strings.Contains(src, "tool \"") || strings.Contains(src, "search {") {
		return src
	}
	return src + searchedToolset
}

// wrap returns the request of an executor that holds a request; nil for one that cannot be made by executors.
func (s *searchSwitch) wrap(h *Host, req *mcp.CallRequest) *mcp.CallRequest {
	g := h.Current()
	if !s.on || req.Caller == nil || req.Caller.Toolset != "" || g.Views.Of("searched") == g.Views.Empty {
		return nil
	}
	caller, executor := *req.Caller, hcl.ReadTool
	if p, ok := g.Program(req.Name); ok && !p.Tool().ReadOnly {
		executor = hcl.CallTool
	}
	caller.Toolset = "searched"
	arguments := req.Arguments
	if arguments == nil {
		arguments = []byte("{}")
	}
	wrapped, err := json.Marshal(map[string]any{"name": req.Name, "arguments": json.RawMessage(arguments)})
	if err != nil {
		return nil // arguments that no message can have
	}
	s.calls++
	return &mcp.CallRequest{Name: executor, Arguments: wrapped, Meta: req.Meta, Caller: &caller, Answers: req.Answers,
		State: req.State, NoWait: req.NoWait}
}

// requestTool calls a tool of a Host, by an executor while throughSearch is on.
func requestTool(ctx context.Context, h *Host, req *mcp.CallRequest) (mcp.Outcome, error) {
	wrapped := throughSearch.wrap(h, req)
	if wrapped == nil {
		return h.CallTool(ctx, req)
	}
	out, err := h.CallTool(ctx, wrapped)
	if text, isText := out.Content.(mcp.Text); isText && out.IsError && strings.HasPrefix(string(text), "There is no tool ") {
		return mcp.Outcome{}, mcp.Unknown("tool", req.Name) // as which it is known by its own name
	}
	return out, err
}

// requestTask makes a request about a task of a Host, in the toolset in which requestTool has called the tool.
func requestTask(ctx context.Context, h *Host, req *mcp.TaskRequest) (mcp.Appender, error) {
	if throughSearch.on && req.Caller.Toolset == "" {
		caller := *req.Caller
		caller.Toolset = "searched"
		moved := &mcp.TaskRequest{Method: req.Method, ID: req.ID, Caller: &caller, Answers: req.Answers}
		if a, err := h.Task(ctx, moved); !mcp.IsUnknown(err) {
			return a, err
		}
	}
	return h.Task(ctx, req)
}
