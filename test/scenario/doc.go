// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario plays the life of one HelmRelease against packages release and status, with an
// in-memory Helm. It covers decisions, status, stored revisions, and the state that a crashed
// process leaves. It is test support and part of no program.
//
// Lines of text drive a World. Files in testdata have such lines, and random tests generate them:
//
//	spec chart=web@1.0.0 values=a [retries=1] [timeout=5m] [replace] [keep-history] [max-history=5]
//	suspend | resume | delete | advance 10m
//	request TOKEN [force|force=OTHER] [reset|reset=OTHER]
//	operation locks|waits|ends | input-changed [applying]
//	conflict older|younger|elsewhere|gone [in=NAMESPACE] [recorded=VERSION]
//	dependent [deleted] [cycle] | dependent gone
//	target taken [in=NAMESPACE]|refused "message"|unanswered|free
//	access "message" [ending] | access behind | access restored
//	approval Always|Destructive|Never [free] | changes "Delete PersistentVolumeClaim/cache" ...
//	protect KIND[,deny] | approve [by=NAME] [other] [replace=KIND/NAME] [void="TEXT"] | reject [by=NAME] [reason="TEXT"]
//	override [by=NAME] [reason="TEXT"] [void="TEXT"]
//	policy freeze="TEXT" [free] | policy opens=TIME [free] | policy refuses|refuses-denials|unavailable|gone
//	blocked REASON "message" [terminal] [quiet] | unblocked
//	stored 1 web@1.0.0 deployed [values=a] [by=me|other|other-helmrelease] [unsealed] [age=10m] [scheme=v2]
//	cli upgrade chart=web@2.0.0 values=b | cli uninstall [keep-history] | cli status superseded
//	forge record|content|labels|save|restore|drop 1 ... | forge unseal
//	reconcile [helm=ok|fail:"text"|crash:"text"|refuse:"text"|deny:"text"|large:percent|running|outage:"text"
//	          [server="name"]] [die=announce|begin|run|pre-hook|objects|wait|post-hook|record|events]
//	reaches pre-hook|objects|wait|post-hook
//	end [helm=ok|fail:"text"|outage:"text"] | die | cancel | shutdown [recorded]
//	other resumes|ends
//
// With helm=crash the action fails while it waits for a container that logs the text and exits.
// With helm=outage the API server does not answer until the time limit of the action, and the
// revision stays pending. With helm=outage-refused no revision is stored. With helm=outage-lost the
// action succeeds, and the response to the final update is lost.
//
// With "spec hooks" charts have a hook before and after each action, and with "spec random" they
// render otherwise each time. A process that dies, a shutdown and an outage leave the revision
// pending, with the progress of its hooks. With "other resumes" another process resumes the action,
// and this process stops.
//
// With "forge" someone who may write Secrets only writes a record with content of his own, changes the
// content or the labels of one, copies one and stores it again later, or deletes one. The lines are in
// forge.go. An action that is running ends if one of its records is written.
//
// With "policy" a policy freezes the release, holds it until a window opens, refuses its chart, for changes only with "changes", is
// not available, or is gone. With "free" it does not hold rollbacks on request.
//
// If a decision acts, one line "reconcile" plays two reconciliations: the one that announces the
// action and the one that records it. It plays one if the action keeps running or the process dies.
// The world checks its invariants after each line and returns an error if one is violated.
//
// Files, top-down:
//
//	script.go    Play and the lines
//	live.go      live objects and drift
//	outage.go    interrupted actions, and other processes
//	access.go    access to the cluster of the release, and policies
//	plan.go      policies, plans and approvals
//	move.go      targets and storage of moved releases, and releases that depend on them
//	steps.go     the steps of a reconciliation, in the order of the controller
//	world.go     World, its actions and its status
//	printer.go   output
//	ending.go    the ends of Helm actions
//	attempt.go   attempts and their hooks
//	check.go     invariants
//	forge.go     records that an attacker writes, and the invariants about them
//	storage.go   Helm storage and Helm actions in memory
//	words.go     words and arguments of a line
//	helm.go      results of a Helm action, with the diagnosis of a container that exits
package scenario
