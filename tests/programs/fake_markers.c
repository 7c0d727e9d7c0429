/* Stands for the libraries that marked programs link: what passes through must reach them. */
int likwid_markerStartRegion(const char *name);
int likwid_markerStopRegion(const char *name);
int PAPI_hl_region_begin(const char *name);
int PAPI_hl_region_end(const char *name);
void cali_begin_region(const char *name);
void cali_end_region(const char *name);
int nvtxRangePushA(const char *name);
int nvtxRangePop(void);

#define PASSED_ON 123

int likwid_markerStartRegion(const char *name)
{
    return name ? PASSED_ON : 0;
}

int likwid_markerStopRegion(const char *name)
{
    return name ? PASSED_ON : 0;
}

int PAPI_hl_region_begin(const char *name)
{
    return name ? PASSED_ON : 0;
}

int PAPI_hl_region_end(const char *name)
{
    return name ? PASSED_ON : 0;
}

void cali_begin_region(const char *name)
{
    (void)name;
}

void cali_end_region(const char *name)
{
    (void)name;
}

int nvtxRangePushA(const char *name)
{
    return name ? PASSED_ON : 0;
}

int nvtxRangePop(void)
{
    return PASSED_ON;
}
