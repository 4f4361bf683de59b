// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package options turns command-line flags into one validated value.
//
// It holds no state and starts nothing.
package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Options configure the controller. Names, defaults and meaning of the flags
// are the reference's; those it does not have say so in their help.
type Options struct {
	// MetricsAddr and HealthAddr are listen addresses; "0" switches one off.
	MetricsAddr string
	HealthAddr  string
	// EnablePprof serves Go's profiles beside the metrics.
	EnablePprof bool
	// Concurrent is how many HelmReleases are visited, and how many Helm actions
	// work, at the same time.
	Concurrent int
	// KubeAPIQPS and KubeAPIBurst limit requests to the API server.
	KubeAPIQPS   float64
	KubeAPIBurst int
	// HTTPTimeout bounds one download of an artifact.
	HTTPTimeout time.Duration
	// ArtifactMaxBytes is the largest artifact that is downloaded.
	ArtifactMaxBytes int64
	// ArtifactCacheBytes is how much is kept of artifacts in memory; 0 is nothing.
	ArtifactCacheBytes int64
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// IntervalJitter spreads intervals by up to this percentage either way.
	IntervalJitter int
	// GracefulShutdown is how long running actions may take to end.
	GracefulShutdown time.Duration
	// LeaderElect makes replicas take turns.
	LeaderElect             bool
	LeaderElectReleaseOnEnd bool
	LeaseDuration           time.Duration
	LeaseRenewDeadline      time.Duration
	LeaseRetryPeriod        time.Duration
	// WatchAllNamespaces is false if only RuntimeNamespace is watched.
	WatchAllNamespaces bool
	// WatchConfigs selects, by label, the ConfigMaps and Secrets whose changes wake
	// the HelmReleases that take values from them; empty selects all.
	WatchConfigs string
	// DefaultServiceAccount is the name of whom Helm acts as, in the namespace of
	// the HelmRelease, where that names nobody; empty is the controller itself.
	DefaultServiceAccount string
	// OverrideManagers are field managers whose fields are taken from them where drift is
	// looked for.
	OverrideManagers []string
	// InsecureKubeconfigExec allows kubeconfigs to execute commands here, and
	// InsecureKubeconfigTLS not to verify API servers.
	InsecureKubeconfigExec bool
	InsecureKubeconfigTLS  bool
	// NoCrossNamespaceRefs refuses sources in other namespaces than the HelmRelease's.
	NoCrossNamespaceRefs bool
	// RequeueDependency is when to look again at a dependency that was not ready.
	RequeueDependency time.Duration
	// Gates are the feature gates.
	Gates Gates
	// RuntimeNamespace is where the controller itself runs.
	RuntimeNamespace string
	// LogLevel is trace, debug, info or error; LogEncoding is json or console.
	LogLevel    string
	LogEncoding string
}

// Parse reads arguments, program name excluded. Help and complaints are written
// to out. It returns flag.ErrHelp if help was asked for.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := &Options{RuntimeNamespace: os.Getenv("RUNTIME_NAMESPACE")}
	fs := flag.NewFlagSet("pintle", flag.ContinueOnError)
	fs.SetOutput(out)
	o.bind(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.validate()
}

func (o *Options) bind(fs *flag.FlagSet) {
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics endpoint; 0 switches it off")
	fs.StringVar(&o.HealthAddr, "health-addr", ":9440", "address of the health endpoint; 0 switches it off")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", false,
		"serve Go's profiles at /debug/pprof/ beside the metrics; a flag of Pintle's own")
	fs.IntVar(&o.Concurrent, "concurrent", 4, "HelmReleases reconciled at the same time")
	fs.Float64Var(&o.KubeAPIQPS, "kube-api-qps", 50, "queries per second to the Kubernetes API, for each release; without limit for the controller itself if the API server shares itself out fairly")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 300, "queries to the Kubernetes API in a burst")
	fs.DurationVar(&o.HTTPTimeout, "http-timeout", 30*time.Second, "time one download of an artifact may take")
	fs.Int64Var(&o.ArtifactMaxBytes, "artifact-max-bytes", 100<<20, "largest artifact that is downloaded, in bytes")
	fs.Int64Var(&o.ArtifactCacheBytes, "artifact-cache-bytes", 64<<20,
		"what is kept of artifacts in memory, in bytes, so that releases of one chart download it once; 0 keeps nothing; not a flag of helm-controller")
	fs.DurationVar(&o.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "first delay after a failure")
	fs.DurationVar(&o.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "longest delay after failures in a row")
	fs.IntVar(&o.IntervalJitter, "interval-jitter-percentage", 5, "how far intervals are spread, in percent")
	fs.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", 600*time.Second, "time running actions have to end at shutdown")
	fs.BoolVar(&o.LeaderElect, "enable-leader-election", false, "let only one replica act at a time")
	fs.BoolVar(&o.LeaderElectReleaseOnEnd, "leader-election-release-on-cancel", true, "give the lease away at shutdown")
	fs.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 35*time.Second, "age after which a lease may be taken over")
	fs.DurationVar(&o.LeaseRenewDeadline, "leader-election-renew-deadline", 30*time.Second, "time the leader tries to renew before it gives up")
	fs.DurationVar(&o.LeaseRetryPeriod, "leader-election-retry-period", 5*time.Second, "time between tries")
	fs.BoolVar(&o.WatchAllNamespaces, "watch-all-namespaces", true, "watch every namespace, not only RUNTIME_NAMESPACE")
	fs.StringVar(&o.WatchConfigs, "watch-configs-label-selector", "reconcile.fluxcd.io/watch=Enabled",
		"label selector of the ConfigMaps and Secrets whose changes lead to upgrades at once; empty selects all")
	fs.Func("override-manager", "field manager whose fields are taken from it where drift is looked for; may be given more than once", func(name string) error {
		if name == "" {
			return errors.New("it needs a name")
		}
		o.OverrideManagers = append(o.OverrideManagers, name)
		return nil
	})
	fs.StringVar(&o.DefaultServiceAccount, "default-service-account", "",
		"ServiceAccount that Helm acts as where a HelmRelease names none; empty is the controller's own")
	fs.BoolVar(&o.InsecureKubeconfigExec, "insecure-kubeconfig-exec", false, "let kubeconfigs in Secrets execute commands in the controller")
	fs.BoolVar(&o.InsecureKubeconfigTLS, "insecure-kubeconfig-tls", false, "let kubeconfigs in Secrets switch off the verification of API servers")
	fs.BoolVar(&o.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "refuse sources in other namespaces than the HelmRelease's")
	fs.DurationVar(&o.RequeueDependency, "requeue-dependency", 30*time.Second,
		"time between looks at a dependency that is not ready; mostly its progress is noticed at once")
	fs.Var(&o.Gates, "feature-gates", "comma-separated list of `Name=bool`")
	fs.StringVar(&o.LogLevel, "log-level", "info", "trace, debug, info or error")
	fs.StringVar(&o.LogEncoding, "log-encoding", "json", "json or console")
}

func (o *Options) validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Concurrent < 1, "--concurrent=%d: at least 1", o.Concurrent)
	bad(o.ArtifactMaxBytes < 1, "--artifact-max-bytes=%d: at least 1", o.ArtifactMaxBytes)
	bad(o.ArtifactCacheBytes < 0, "--artifact-cache-bytes=%d: at least 0", o.ArtifactCacheBytes)
	bad(o.IntervalJitter < 0 || o.IntervalJitter >= 100, "--interval-jitter-percentage=%d: from 0 to 99", o.IntervalJitter)
	bad(o.MinRetryDelay <= 0 || o.MaxRetryDelay < o.MinRetryDelay,
		"--min-retry-delay=%s, --max-retry-delay=%s: more than zero, and not the wrong way round", o.MinRetryDelay, o.MaxRetryDelay)
	bad(o.HTTPTimeout <= 0, "--http-timeout=%s: more than zero", o.HTTPTimeout)
	bad(o.RequeueDependency <= 0, "--requeue-dependency=%s: more than zero", o.RequeueDependency)
	bad(!o.WatchAllNamespaces && o.RuntimeNamespace == "", "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment")
	_, err := labels.Parse(o.WatchConfigs)
	bad(err != nil, "--watch-configs-label-selector=%s: %w", o.WatchConfigs, err)
	switch o.LogLevel {
	case "trace", "debug", "info", "error":
	default:
		bad(true, "--log-level=%s: trace, debug, info or error", o.LogLevel)
	}
	switch o.LogEncoding {
	case "json", "console":
	default:
		bad(true, "--log-encoding=%s: json or console", o.LogEncoding)
	}
	return errors.Join(errs...)
}

// ConfigSelector is WatchConfigs, parsed. It selects nothing if WatchConfigs was
// not validated and is no selector.
func (o *Options) ConfigSelector() labels.Selector {
	selector, err := labels.Parse(o.WatchConfigs)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
