/* Marking regions of a program, so that `roofline record` shows each by its name.
 *
 *     roofline_region_begin("spmv");
 *     …
 *     roofline_region_end("spmv");
 *
 * Link with -lroofline-region. Without the tool a call costs a test and a return and needs nothing
 * at run time; under it, regions are timed per call and thread, and counted exactly. Regions may
 * nest and recurse, be opened outside a parallel loop (its threads then count in it) or in each
 * thread. A region is ended by the thread that began it; an end without its begin is ignored.
 * From C++ `roofline::region r("spmv");` ends with its scope; Fortran uses the module in
 * roofline_region.f90, Python roofline_region.py. */
#ifndef ROOFLINE_REGION_H
#define ROOFLINE_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

/** @param name  NUL-terminated; only its first 95 bytes tell regions apart. Copied. NULL is
 * ignored.
 */
void roofline_region_begin(const char *name);
void roofline_region_end(const char *name);

#ifdef __cplusplus
}

namespace roofline
{

/** A region that lasts as long as the object. */
class region
{
  public:
    explicit region(const char *name) : name_(name)
    {
        roofline_region_begin(name_);
    }
    ~region()
    {
        roofline_region_end(name_);
    }

  private:
    region(const region &);
    region &operator=(const region &);
    const char *name_;
};

} // namespace roofline
#endif

#endif
