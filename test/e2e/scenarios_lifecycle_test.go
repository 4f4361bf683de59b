// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// install and upgrade are settings of these actions with short timeouts. Actions that must succeed
// have a longer spec.timeout.
func install(change func(*helmv2.Install)) func(*helmv2.HelmReleaseSpec) {
	return func(spec *helmv2.HelmReleaseSpec) {
		spec.Install = &helmv2.Install{Timeout: duration(shortly)}
		change(spec.Install)
	}
}

func upgrade(change func(*helmv2.Upgrade)) func(*helmv2.HelmReleaseSpec) {
	return func(spec *helmv2.HelmReleaseSpec) {
		spec.Upgrade = &helmv2.Upgrade{Timeout: duration(shortly)}
		change(spec.Upgrade)
	}
}

func tested(spec *helmv2.HelmReleaseSpec) { spec.Test = &helmv2.Test{Enable: true} }

func installFail(w world) {
	hr := w.play(unready(), install(func(*helmv2.Install) {}))
	w.settles(hr, conditions{helmv2.ConditionReleased: no, helmv2.ConditionReady: no})
	w.newest(hr, 1, helmrelease.StatusFailed)
	w.deployment("play-fickle")
}

func installTestFail(w world) {
	hr := w.play(failedTest(), tested)
	w.settles(hr, conditions{
		helmv2.ConditionReleased: yes, helmv2.ConditionTestSuccess: no, helmv2.ConditionReady: no,
	})
	w.newest(hr, 1, helmrelease.StatusDeployed)
}

func installTestFailIgnore(w world) {
	hr := w.play(failedTest(), func(spec *helmv2.HelmReleaseSpec) {
		spec.Test = &helmv2.Test{Enable: true, IgnoreFailures: true}
	})
	w.settles(hr, conditions{
		helmv2.ConditionReleased: yes, helmv2.ConditionTestSuccess: no, helmv2.ConditionReady: yes,
	})
	w.newest(hr, 1, helmrelease.StatusDeployed)
}

func installFailRemediate(w world) {
	hr := w.play(unready(), install(func(i *helmv2.Install) {
		i.Remediation = &helmv2.InstallRemediation{RemediateLastFailure: ptr(true)}
	}), func(spec *helmv2.HelmReleaseSpec) { spec.Uninstall = &helmv2.Uninstall{KeepHistory: true} })
	w.settles(hr, conditions{
		helmv2.ConditionReleased: no, helmv2.ConditionReady: no, helmv2.ConditionRemediated: yes,
	})
	w.newest(hr, 1, helmrelease.StatusUninstalled)
}

func installFailRetry(w world) {
	hr := w.play(unready(), install(func(i *helmv2.Install) {
		i.Remediation = &helmv2.InstallRemediation{Retries: 1}
	}))
	w.settles(hr, conditions{
		helmv2.ConditionStalled: yes, helmv2.ConditionReleased: no, helmv2.ConditionReady: no,
	})
	w.equal("installFailures", hr.Status.InstallFailures, int64(2))
	w.newest(hr, 1, helmrelease.StatusFailed)
}

func upgradeFail(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), upgrade(func(*helmv2.Upgrade) {}))
	w.settles(hr, conditions{
		helmv2.ConditionStalled: yes, helmv2.ConditionReleased: no, helmv2.ConditionReady: no,
	})
	w.newest(hr, 2, helmrelease.StatusFailed)
}

func upgradeTestFail(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	w.change(hr, failedTest(), tested)
	w.settles(hr, conditions{
		helmv2.ConditionStalled: yes, helmv2.ConditionReleased: yes,
		helmv2.ConditionTestSuccess: no, helmv2.ConditionReady: no,
	})
	w.newest(hr, 2, helmrelease.StatusDeployed)
}

func upgradeFailRemediate(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), upgrade(func(u *helmv2.Upgrade) {
		u.Remediation = &helmv2.UpgradeRemediation{RemediateLastFailure: ptr(true)}
	}))
	w.settles(hr, conditions{
		helmv2.ConditionRemediated: yes, helmv2.ConditionReleased: no, helmv2.ConditionReady: no,
	})
	w.rolledBack(hr, 3, 1)
	w.equal("replicas", *w.deployment("play-fickle").Spec.Replicas, int32(1))
}

func upgradeFailRetry(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), upgrade(func(u *helmv2.Upgrade) {
		u.Remediation = &helmv2.UpgradeRemediation{Retries: 1}
	}))
	w.settles(hr, conditions{
		helmv2.ConditionStalled: yes, helmv2.ConditionReleased: no, helmv2.ConditionReady: no,
		helmv2.ConditionRemediated: yes,
	})
	w.equal("upgradeFailures", hr.Status.UpgradeFailures, int64(2))
	w.rolledBack(hr, 5, 3)
}

// upgradeFromOCIRepository: both artifacts are named by their digests, and have
// the same version.
func upgradeFromOCIRepository(w world) {
	repository := w.Namespace + "/fickle"
	publish := func(description string) (digest string) {
		c := w.fickle("0.1.0")
		c.Metadata.Description = description
		w.Publish(c)
		digest, err := env.Registry.Digest(w.Context(), repository, "0.1.0")
		w.Must(err)
		return digest
	}
	first, second := publish("one"), publish("two")
	source := w.artifact(sourcev1.OCIRepositoryRef{Digest: first})
	hr := w.Draft("play", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	w.Create(hr)
	w.UntilRevision(hr, 1)

	w.Get(source.Name, source)
	source.Spec.Reference.Digest = second
	w.Must(env.Client.Update(w.Context(), source))
	w.Until(hr, "to be upgraded", func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].Version == 2
	})
	w.settles(hr, conditions{helmv2.ConditionReady: yes, helmv2.ConditionReleased: yes})
	w.newest(hr, 2, helmrelease.StatusDeployed)
	if got := hr.Status.LastAttemptedRevisionDigest; !strings.HasSuffix(got, second) {
		w.Errorf("lastAttemptedRevisionDigest is %q, want %q", got, second)
	}
}

func upgradeFailUninstall(w world) {
	hr := w.play(nil)
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), install(func(*helmv2.Install) {}), upgrade(func(u *helmv2.Upgrade) {
		u.Remediation = &helmv2.UpgradeRemediation{Strategy: helmv2.RemediationUninstall, RemediateLastFailure: ptr(true)}
	}))
	w.settles(hr, conditions{helmv2.ConditionStalled: yes, helmv2.ConditionReleased: no, helmv2.ConditionReady: no})
	w.equal("upgradeFailures", hr.Status.UpgradeFailures, int64(1))
	w.equal("installFailures", hr.Status.InstallFailures, int64(1))
	w.newest(hr, 1, helmrelease.StatusFailed)
}
