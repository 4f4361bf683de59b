// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
	"github.com/pintle-dev/pintle/internal/view/read"
	"github.com/pintle-dev/pintle/internal/worker"
)

// Options configure a Differ.
type Options struct {
	// Charts downloads archives and Workers render them. Both are required but for Drift and
	// DriftFacts, which render nothing.
	Charts  *chart.Store
	Workers worker.Caller
	// Settings are the settings of the controller, as far as they are known.
	Settings inputs.Settings
	// AllowDNS enables the template function getHostByName.
	AllowDNS bool
	// OverrideManagers are field managers whose additions are drift.
	OverrideManagers []string
	// Now returns the current time. It is required.
	Now func() time.Time
}

// Differ computes diffs. It is safe for concurrent use.
type Differ struct {
	Options

	runner *helm.Runner
}

// New returns a Differ.
func New(o Options) *Differ {
	return &Differ{Options: o, runner: helm.NewRunner(o.Charts, o.Workers, nil, nil, o.Now)}
}

// Defaults returns the settings of a controller with the defaults of all flags. Sources of all kinds are
// allowed: the controller refuses those that it does not allow.
func Defaults() inputs.Settings { return inputs.Settings{ExternalArtifacts: true, HelmCharts: true} }

// Query is the input of a diff.
type Query struct {
	// Release is the HelmRelease, as it is stored or proposed.
	Release *helmv2.HelmRelease
	// Reader reads the source and the objects of spec.valuesFrom.
	Reader client.Reader
	// Connection reads release records and live objects, and sends dry runs.
	Connection *cluster.Connection
	// Lookups states how templates read objects.
	Lookups Lookups
	// Artifact is the archive of the chart; zero for the artifact of the source.
	Artifact chart.Artifact
	// Checkouts are directories in place of sources of values.
	Checkouts inputs.Checkouts
	// Choose returns the objects of the revision that Drift and DriftFacts compare, before live ones
	// are read. Nil is all.
	Choose func(ctx context.Context, objects []*resource.Info) []*resource.Info
}

// Desired returns what the next reconciliation would change: the changes of its install or upgrade,
// and of its drift correction.
func (d *Differ) Desired(ctx context.Context, q Query) (view.Diff, error) {
	return d.diff(ctx, q, func(s *subject) (view.DiffFacts, error) {
		facts, err := s.pending(ctx)
		newest := s.in.Observed.Newest()
		if err == nil && newest != nil && s.want.Policy.Drift == helmv2.DriftDetectionEnabled && release.Proven(newest, s.want.UID, s.hr.Status.History) {
			facts.Drift, err = s.drift(ctx)
		}
		return facts, err
	})
}

// Proposed returns what the install or upgrade of a proposed HelmRelease would change. Drift that
// exists before is left out.
func (d *Differ) Proposed(ctx context.Context, q Query) (view.Diff, error) {
	return d.diff(ctx, q, func(s *subject) (view.DiffFacts, error) { return s.pending(ctx) })
}

// diff resolves the inputs of a release, and returns the view of facts.
func (d *Differ) diff(ctx context.Context, q Query, facts func(s *subject) (view.DiffFacts, error)) (view.Diff, error) {
	s, err := d.subject(ctx, q, true)
	if err != nil {
		return view.Diff{}, err
	}
	found, err := facts(s)
	return view.DiffOf(found), s.reads.explain(err)
}

// Revision returns the changes that would make live objects equal a stored revision.
func (d *Differ) Revision(ctx context.Context, q Query, version int) (view.Diff, error) {
	s, err := d.subject(ctx, q, false)
	if err != nil {
		return view.Diff{}, err
	}
	job := s.job(release.Upgrade{Timeout: s.want.Policy.Upgrade.Timeout})
	job.Desired.Target = release.ObservedTarget(s.in)
	f, err := d.runner.ForecastRevision(ctx, s.conn, job, version)
	if err != nil {
		return view.Diff{}, err
	}
	facts := s.facts(f)
	if len(f.All) > 0 {
		facts.Action, facts.Why = "Rollback", fmt.Sprintf("live objects differ from revision %d", version)
	}
	return view.DiffOf(facts), nil
}

// Rollback returns what a rollback to a stored revision would change.
func (d *Differ) Rollback(ctx context.Context, q Query, version int) (view.Diff, error) {
	s, err := d.subject(ctx, q, false)
	if err != nil {
		return view.Diff{}, err
	}
	job := s.job(release.Rollback{Timeout: s.want.Policy.RollbackTimeout, Version: version, Hold: true})
	job.Desired.Target = release.ObservedTarget(s.in)
	f, err := d.runner.Forecast(ctx, s.conn, job, helm.PlanRequest{Action: v1alpha1.PlanRollback})
	if err != nil {
		return view.Diff{}, err
	}
	facts := s.facts(f)
	facts.Action, facts.Why = string(v1alpha1.PlanRollback), fmt.Sprintf("to revision %d", version)
	return view.DiffOf(facts), nil
}

// Drift returns what the detection of drift would report, and its correction change, in any mode.
func (d *Differ) Drift(ctx context.Context, q Query) (view.Diff, error) {
	facts, err := d.DriftFacts(ctx, q)
	if err != nil {
		return view.Diff{}, err
	}
	found := view.DiffOf(facts)
	if len(found.Drifted) > 0 && q.Release.GetDriftMode() == helmv2.DriftDetectionEnabled {
		found.Action = "CorrectDrift"
	}
	return found, nil
}

// DriftFacts returns the facts that Drift makes its view of.
func (d *Differ) DriftFacts(ctx context.Context, q Query) (view.DiffFacts, error) {
	s, err := d.subject(ctx, q, false)
	if err != nil {
		return view.DiffFacts{}, err
	}
	facts := s.facts(helm.Forecast{})
	if facts.Drift, err = s.drift(ctx); facts.Drift != nil {
		facts.Revision = s.in.Observed.Newest().Version
	}
	return facts, err
}

// StoredTarget returns the release whose stored revisions are read for a diff of a HelmRelease.
func StoredTarget(hr *helmv2.HelmRelease) release.Target {
	desired := inputs.NewResolver(nil, nil, nil).Basics(hr, release.Suspension{}).InPlace(hr.Status)
	return release.StoredTarget(desired, hr.Status)
}

// subject is one release with its inputs and its stored revisions.
type subject struct {
	*Differ

	hr     *helmv2.HelmRelease
	reader client.Reader
	conn   *cluster.Connection
	want   inputs.Want
	in     release.Input
	// reads is how templates read.
	reads *reads
	// choose is Query.Choose.
	choose func(ctx context.Context, objects []*resource.Info) []*resource.Info
}

// subject reads the stored revisions of a release and, if withInputs is true, its inputs.
func (d *Differ) subject(ctx context.Context, q Query, withInputs bool) (*subject, error) {
	if err := read.Here(q.Release); err != nil {
		return nil, err
	}
	s := &subject{Differ: d, hr: q.Release, reader: q.Reader, conn: q.Connection.With(ReadOnly), reads: &reads{Lookups: q.Lookups}, choose: q.Choose}
	resolver := inputs.NewResolver(q.Reader, q.Reader, d.Charts).WithSettings(d.Settings).WithCheckouts(q.Checkouts)
	var err error
	if withInputs {
		s.want, err = resolve(ctx, resolver, q)
	} else {
		s.want, err = resolver.Values(ctx, inputs.WithoutFiles(q.Release))
		s.want.Desired = resolver.Basics(q.Release, release.Suspension{}).Desired
	}
	if err != nil {
		return nil, err
	}
	s.want.Desired = s.want.InPlace(s.hr.Status)
	s.in = release.Input{Desired: s.want.Desired, Recorded: s.hr.Status, Now: d.Now()}
	s.in.Observed.Revisions, err = d.runner.LiveHistory(ctx, s.conn, StoredTarget(s.hr), s.hr.Status.History)
	if err != nil {
		return nil, fmt.Errorf("stored revisions: %w", err)
	}
	return s, nil
}

// resolve returns the inputs of a release. It waits for the download of the chart.
func resolve(ctx context.Context, resolver *inputs.Resolver, q Query) (inputs.Want, error) {
	if q.Artifact.Digest == "" {
		if err := checkTemplate(ctx, q.Reader, q.Release); err != nil {
			return inputs.Want{}, err
		}
	}
	for {
		want, err := resolver.Contents(ctx, q.Release, q.Artifact)
		ended := inputs.DownloadEnded(err)
		if ended == nil {
			return want, err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return want, context.Cause(ctx)
		}
	}
}

// errNotFetched is the error for a chart that source-controller was not told to fetch.
var errNotFetched = errors.New("source-controller has not been asked for this chart, so its archive has to be given")

// checkTemplate returns errNotFetched if the source of spec.chart does not exist, or stands for another
// chart.
func checkTemplate(ctx context.Context, reader client.Reader, hr *helmv2.HelmRelease) error {
	if !hr.HasChartTemplate() {
		return nil
	}
	if err := inputs.CheckTemplate(hr); err != nil {
		return err
	}
	want := inputs.TemplateSource(hr)
	row, _ := inputs.SourceKindOf(inputs.KindOf(want))
	have := row.New()
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(want), have); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist: %w", inputs.SourceName(want), errNotFetched)
	case err != nil:
		return err
	case !inputs.HasTemplateChart(have, want):
		return fmt.Errorf("%s has %s, and not the chart of spec.chart: %w", inputs.SourceName(want), inputs.DescribeChart(have), errNotFetched)
	}
	return nil
}

// pending returns the facts about the install or upgrade that the release needs; without an action if it
// is in sync.
func (s *subject) pending(ctx context.Context) (view.DiffFacts, error) {
	if s.want.Policy.PreserveValues {
		var err error
		if s.in.Observed.PreservedDigest, err = s.runner.PreservedDigest(ctx, s.conn, s.in, s.want.Values); err != nil {
			return view.DiffFacts{}, err
		}
	}
	decision := release.Pending(s.in)
	if decision == nil {
		return s.facts(helm.Forecast{}), nil
	}
	action := release.PlanActionOf(s.in, decision.HelmAction())
	f, err := s.runner.Forecast(ctx, s.conn, s.job(decision.HelmAction()), helm.PlanRequest{Action: action})
	if err != nil {
		return view.DiffFacts{}, err
	}
	facts := s.facts(f)
	facts.Action, facts.Why = string(action), decision.Why
	return facts, nil
}

func (s *subject) layers() []plan.Layer {
	if s.want.Layers == nil {
		return nil
	}
	return s.want.Layers()
}

// facts returns the facts about a forecast.
func (s *subject) facts(f helm.Forecast) view.DiffFacts {
	f.Status.Warnings = append(slices.Clip(f.Status.Warnings), s.reads.warnings()...)
	side := func(text string) manifest.Side { return manifest.Side{Manifest: text, Secrets: f.Secrets} }
	return view.DiffFacts{
		Namespace: s.hr.Namespace, Name: s.hr.Name, Plan: f.Status, Changes: f.All,
		Base: side(f.Base.Manifest), Next: side(f.Next.Manifest), BaseHooks: side(f.Base.Hooks), NextHooks: side(f.Next.Hooks),
		Notes: manifest.Text(f.Base.Notes, f.Next.Notes, f.Secrets),
	}
}

// job returns the job of an action.
func (s *subject) job(action release.HelmAction) helm.Job { return s.inputs().Job(action) }

// inputs returns the release with its inputs, as the controller has them.
func (s *subject) inputs() helm.Subject {
	return helm.Subject{
		HelmRelease: s.hr, Want: s.want, Defaults: s.Settings.Defaults, AllowDNS: s.AllowDNS, Lookups: s.reads.connection,
		OwnerCandidates: inputs.OwnerReader{Live: s.reader, ByHistory: s.releasesByHistory}.OfObjects(s.hr),
	}
}

// releasesByHistory lists the HelmReleases of all namespaces, or of the namespace of the release if that
// is forbidden: the others are read by their names.
func (s *subject) releasesByHistory(ctx context.Context, key string) ([]helmv2.HelmRelease, error) {
	var list helmv2.HelmReleaseList
	err := s.reader.List(ctx, &list)
	if apierrors.IsForbidden(err) {
		err = s.reader.List(ctx, &list, client.InNamespace(s.hr.Namespace))
	}
	return slices.DeleteFunc(list.Items, func(hr helmv2.HelmRelease) bool { return !slices.Contains(inputs.HistoryKeys(&hr), key) }), err
}

// drift compares live objects with the newest revision; nil if there is none.
func (s *subject) drift(ctx context.Context) (*release.Drift, error) {
	newest := s.in.Observed.Newest()
	if newest == nil || newest.Status == helmv2.StatusUninstalled {
		return nil, nil //nolint:nilnil // see above
	}
	from := s.inputs()
	var err error
	if from.Secrets, err = s.secrets(ctx, newest.Version); err != nil {
		return nil, err
	}
	look, err := drift.RequestFor(s.hr, s.OverrideManagers, from.Secrets)
	if err != nil {
		return nil, err
	}
	look.Objects = func(ctx context.Context) ([]*resource.Info, []release.Object, error) {
		objects, skipped, err := s.runner.Objects(ctx, s.conn, from.ReadRequest(release.ObservedTarget(s.in), newest.Version))
		if s.choose != nil {
			objects = s.choose(ctx, objects)
		}
		return objects, skipped, err
	}
	look.Changed = func(schema.GroupVersionResource, string, string, string, string) drift.Change { return drift.Changed }
	return drift.NewDetector(s.Now).Detect(ctx, look)
}

// secrets returns the texts that are removed from a comparison with a stored revision.
func (s *subject) secrets(ctx context.Context, version int) ([]string, error) {
	record, err := read.Storage(s.conn)(ctx, release.ObservedTarget(s.in), version)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, fmt.Errorf("revision %d is not stored any more", version)
	}
	return record.AllSecrets(s.want.Secrets, s.layers()), nil
}
