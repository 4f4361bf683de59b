// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario plays the life of one HelmRelease against the pure rooms,
// with a Helm that lives in memory: what release decides, what report says, what
// storage holds, what a process that dies leaves behind. It is test support; no
// program imports it.
//
// A World is driven by lines of text, the same lines that testdata/*.txt are
// made of and that the random tests invent:
//
//	spec chart=web@1.0.0 values=a [retries=1] [timeout=5m] [replace] [keep-history] [max-history=5]
//	suspend | resume | delete | advance 10m
//	request TOKEN [force|force=OTHER] [reset|reset=OTHER]
//	operation holds|waits|ends
//	access "what does not exist" [ending] | access behind | access restored
//	target taken|refused "why"|unanswered|free
//	blocked REASON "message" [terminal] [quiet] | unblocked
//	stored 1 web@1.0.0 deployed [values=a] [by=me|other] [age=10m] [scheme=v2]
//	hand upgrade chart=web@2.0.0 values=b | hand uninstall [keep-history] | hand status superseded
//	visit [helm=ok|fail:"text"|crash:"text"|refuse:"text"|large:percent|running|outage:"text" [server="name"]] [die=announce|begin|run|record|events]
//	end [helm=ok|fail:"text"|outage:"text"] | die | cancel | shutdown
//
// With helm=crash the action fails while it waits for a container that logs the text and
// exits. With helm=outage the API server does not answer until the budget of the action ends, and
// the revision is then stored as failed and interrupted. With helm=outage-refused nothing is
// stored, with helm=outage-pending the final update is not, and with helm=outage-lost all is
// done but the answer to the final update is lost.
//
// A visit whose decision acts is two reconciliations, the one that announces and
// the one that records, unless the action is left running or the process dies.
// After every visit the world checks what must always hold, and reports what
// does not as an error.
package scenario
